package postgres

import "testing"

// TestHub: who watches gets a hint of what lies below the prefix, and of nothing else; hints are merged.
func TestHub(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string][3]bool{ // the log, all documents, those below w/
		"l": {true, false, false}, "dw/a": {false, true, true}, "dx/a": {false, true, false}, "dw": {false, true, false},
		"*": {false, true, true}, "": {}, "what a later version says": {},
	} {
		h := newHub()
		all := []*watch{{log: true}, {}, {prefix: "w/"}}
		for _, w := range all {
			h.add(w)
			if len(w.hints) != 1 || cap(w.hints) != 1 {
				t.Fatalf("a new watch has %d hints", len(w.hints))
			}
			<-w.hints
		}
		h.heard(payload)
		h.heard(payload)
		for i, w := range all {
			if got := len(w.hints) == 1; got != want[i] {
				t.Errorf("%q: watch %d has a hint: %v", payload, i, got)
			}
			h.remove(w)
		}
		h.everybody()
	}
}

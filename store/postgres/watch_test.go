package postgres

import "testing"

// TestHub: who watches gets a hint of what lies below the prefix, and of nothing else.
func TestHub(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string][3]int{ // the log, all rows, those below w/
		"l": {1, 0, 0}, "dw/a": {0, 1, 1}, "dx/a": {0, 1, 0}, "dw": {0, 1, 0}, "*": {0, 1, 1},
		"": {1, 1, 1}, "what a later version says": {},
	} {
		h := newHub()
		var got [3]int
		all := []*watch{{log: true}, {}, {prefix: "w/"}}
		for i, w := range all {
			w.hint = func() { got[i]++ }
			h.add(w)
		}
		h.heard(payload)
		if got != want {
			t.Errorf("%q: hints %d, want %d", payload, got, want)
		}
		for _, w := range all {
			h.remove(w)
		}
		if h.heard(payload); got != want {
			t.Errorf("%q: hints after the end", payload)
		}
	}
}

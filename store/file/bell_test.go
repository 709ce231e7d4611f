package file

import (
	"fmt"
	"testing"
)

// TestTouchedBy: a watch is hinted at what it is about; a renewal of one member's heartbeat is not a hint for all.
func TestTouchedBy(t *testing.T) {
	t.Parallel()
	ring := func(slot int) (p peal) {
		p[slot] = 1
		return p
	}
	for _, c := range []struct {
		prefix, key string
		want        bool
	}{
		{"pulse/a/", "pulse/a/1-0", true}, {"pulse/a/", "pulse/b/1-0", false}, {"pulse/", "pulse/b/1-0", true}, {"", "pulse/b/1-0", true},
		{"pulse/a/1/", "pulse/a/1/x", true}, {"a/", "a/b", true}, {"", "a", true},
	} {
		if got := (&watch{prefix: c.prefix}).touchedBy(peal{}, ring(docSlot(c.key))); got != c.want {
			t.Errorf("prefix %q, key %q: touched %v", c.prefix, c.key, got)
		}
		if (&watch{prefix: c.prefix}).touchedBy(peal{}, ring(logSlot)) {
			t.Errorf("prefix %q: touched by the log", c.prefix)
		}
	}
	if !(&watch{log: true}).touchedBy(peal{}, ring(logSlot)) || (&watch{log: true}).touchedBy(peal{}, ring(docSlot("a/b"))) {
		t.Error("a watch of the log is about the log alone")
	}
	shared := map[int]int{}
	for i := range 100 {
		shared[docSlot(fmt.Sprintf("pulse/m%03d/x", i))]++
	}
	for slot, n := range shared {
		if n > 8 {
			t.Errorf("%d of 100 members share slot %d", n, slot)
		}
	}
}

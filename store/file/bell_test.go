package file

import (
	"fmt"
	"os"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestTouchedBy: a watch is hinted at what it is about. A renewal of one member's heartbeat is not a hint for those who
// watch another one, and a saved position is none for those who watch all heartbeats.
func TestTouchedBy(t *testing.T) {
	t.Parallel()
	doc := func(key string) (p numbers) {
		var changed slots
		changed.doc("d/" + key)
		for i, is := range changed.of {
			if is {
				p.of[i] = 1
			}
		}
		for i, is := range changed.families {
			if is {
				p.families[i] = 1
			}
		}
		return p
	}
	var log numbers
	log.of[logSlot] = 1
	for _, c := range []struct {
		prefix, key string
		want        bool
	}{
		{"pulse/a/", "pulse/a/1-0", true}, {"pulse/a/", "pulse/b/1-0", false}, {"pulse/", "pulse/b/1-0", true},
		{"", "pulse/b/1-0", true},
		{"pulse/a/1/", "pulse/a/1/x", true}, {"a/", "a/b", true}, {"", "a", true}, {"pulse/", "position/b", false},
		{"position/", "pulse/a/1-0", false},
	} {
		w := &watch{prefix: "d/" + c.prefix}
		if got := w.touchedBy(numbers{}, doc(c.key)); got != c.want {
			t.Errorf("prefix %q, key %q: touched %v", c.prefix, c.key, got)
		}
		if w.touchedBy(numbers{}, log) {
			t.Errorf("prefix %q: touched by the log", c.prefix)
		}
	}
	if !(&watch{log: true}).touchedBy(numbers{}, log) || (&watch{log: true}).touchedBy(numbers{}, doc("a/b")) {
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

// TestRing: what is rung changes, what is not stays, and so does the mark between the numbers.
func TestRing(t *testing.T) {
	t.Parallel()
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	b := must.Get(openBell(root, Options{}.withDefaults()))(t)
	defer b.close()
	must.Succeed(t, b.setMark(7))
	keys := []string{"position/a", "position/b", "pulse/a/1", "zz"}
	for n := range 1 << len(keys) {
		var changed slots
		changed.of[logSlot] = n%3 == 0
		for i, key := range keys {
			if n>>i&1 == 1 {
				changed.doc(key)
			}
		}
		before, now := rung(t, b, changed)
		for i, is := range changed.of {
			if is != (before.of[i] != now.of[i]) {
				t.Errorf("%b: slot %d changed: %v, want %v", n, i, !is, is)
			}
		}
		for i, is := range changed.families {
			if is != (before.families[i] != now.families[i]) {
				t.Errorf("%b: family %d changed: %v, want %v", n, i, !is, is)
			}
		}
	}
	if mark, err := b.mark(); err != nil || mark != 7 {
		t.Errorf("mark %d, %v", mark, err)
	}
}

// rung is what the bell showed before and after it was rung.
func rung(t *testing.T, b *bell, changed slots) (before, now numbers) {
	t.Helper()
	before, err := b.look()
	if err == nil {
		err = b.ring(changed)
	}
	if err == nil {
		now, err = b.look()
	}
	must.Succeed(t, err)
	return before, now
}

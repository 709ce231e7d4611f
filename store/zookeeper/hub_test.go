package zookeeper

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
)

// watching returns a hub with one watch of all rows, and counts its hints. Nobody arms anything.
func watching() (h *hub, hints *int) {
	h, hints = newHub(&conn{log: slog.New(slog.DiscardHandler)}), new(int)
	h.watches[&watch{hint: func() { *hints++ }}] = struct{}{}
	return h, hints
}

// TestNothingIsKnownOfALostConnection: what was found at an armed spot counts until an event comes there, or the
// connection goes, and its watches with it.
func TestNothingIsKnownOfALostConnection(t *testing.T) {
	t.Parallel()
	for what, e := range map[string]zk.Event{
		"it has changed":         {Type: zk.EventNodeDataChanged, Path: "/rows/a"},
		"it is gone":             {Type: zk.EventNodeDeleted, Path: "/rows/a"},
		"the connection is":      {Type: zk.EventSession, State: zk.StateDisconnected},
		"there is a new session": {Type: zk.EventSession, State: zk.StateHasSession},
	} {
		h, _ := watching()
		at := spot{path: "/rows/a"}
		h.settle(at, h.claim(at), node{}, nil)
		if _, known := h.known(at); !known {
			t.Fatal("what was found is not known")
		}
		if h.event(e); h.armed[at] != nil {
			t.Errorf("%s: what was found before is known", what)
		}
	}
}

// TestWhatNobodyLooksAtIsArmed: after each change those who were told of it have some time to look, and then the hub
// does.
func TestWhatNobodyLooksAtIsArmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, hints := watching()
		for range 2 {
			*hints = 0
			for range 3 {
				h.event(zk.Event{Type: zk.EventNodeChildrenChanged, Path: h.c.o.at(rowsNode)})
			}
			time.Sleep(lookTime - time.Millisecond) // waits: by the clock of the test
			if len(h.wake) != 0 || *hints != 3 {
				t.Errorf("before its time: woken %d times, %d hints", len(h.wake), *hints)
			}
			time.Sleep(2 * time.Millisecond) // waits: by the clock of the test
			synctest.Wait()
			if dirty := h.dirty(); len(dirty) != 1 || len(h.wake) != 1 {
				t.Fatalf("%d watches are to be armed, woken %d times", len(dirty), len(h.wake))
			}
			<-h.wake
		}
	})
}

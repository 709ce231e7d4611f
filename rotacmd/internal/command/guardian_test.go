package command

import (
	"testing"

	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/store"
)

// mortal is a store whose sessions others can end.
type mortal struct {
	store.Full
	store.SessionEnder
}

// TestWhyThereIsNoGuardian: a member without one says why, in words that its heartbeat carries to rota member list and
// rota status.
func TestWhyThereIsNoGuardian(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		st         store.Full
		wanted, no bool
	}{
		"none: --guardian=false":                  {mortal{}, false, false},
		"none: no session to end (--no-sessions)": {mortal{}, true, true},
		notNeeded: {struct{ store.Full }{}, true, false},
	} {
		m := &config{guarded: c.wanted}
		m.node.NoSessions = c.no
		var undo []func()
		if got := m.guardian(c.st, guardian.Options{}, &undo).State(); got != want || len(undo) != 0 {
			t.Errorf("got %q with %d to undo, want %q", got, len(undo), want)
		}
	}
	if got := unguarded("none: \xff").State(); got != "none: ?" {
		t.Errorf("what is no UTF-8 comes as %q", got)
	}
}

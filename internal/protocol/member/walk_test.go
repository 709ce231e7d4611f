package member

import (
	"testing"

	"github.com/rota-run/rota/cluster"
)

// walker proves in each phase what a test says.
type walker struct {
	proves map[Phase]Stand
	core   *Core
	lives  int
}

func (w *walker) Stand() Stand       { return w.proves[w.core.Is] }
func (w *walker) Again()             { w.lives++ }
func (*walker) Index() cluster.Index { return 7 }
func (*walker) Take(Event)           {}
func (*walker) Advance()             {}

// TestNoPhaseChangesWithoutProof: a stand that proves nothing moves nobody, and "not in" is not "out".
func TestNoPhaseChangesWithoutProof(t *testing.T) {
	t.Parallel()
	for p := PhaseReading; p <= PhaseHalted; p++ {
		c, _ := joined(Confirm)
		c.Is, c.Own.Held = p, false
		if c.Walk(&walker{core: &c}); c.Is != p {
			t.Errorf("from phase %d it went to %d", p, c.Is)
		}
	}
}

// TestALifeIsJoinedOnce: whoever is confirmed is not told again that it is joined, and whoever was removed is, in
// another life, when nothing runs any more.
func TestALifeIsJoinedOnce(t *testing.T) {
	t.Parallel()
	c, _ := joined(Confirm)
	in := Stand{In: true, Joined: true, Inc: 3}
	w := &walker{core: &c, proves: map[Phase]Stand{PhaseMember: in, PhaseConfirming: in}}
	said := func(want int, when string) {
		t.Helper()
		c.Walk(w)
		n := 0
		for _, e := range c.End() {
			if _, ok := e.(Joining); ok {
				n++
			}
		}
		if n != want {
			t.Errorf("%s it says %d times that it is joined, not %d", when, n, want)
		}
	}
	said(1, "when it is in")
	c.Is = PhaseConfirming
	said(0, "when it was confirmed")
	w.proves = map[Phase]Stand{PhaseMember: {Out: true}, PhaseRemoved: {Free: true}, PhaseNaming: {Free: true},
		PhaseJoining: {In: true, Joined: true, Inc: 7}}
	if said(0, "when it is out"); c.Is != PhaseRemoved || w.lives != 0 {
		t.Fatalf("in phase %d, after %d lives, while its work runs", c.Is, w.lives)
	}
	c.Reported = c.Given.Version
	if said(0, "when its work has stopped"); c.Is != PhaseBeginning || w.lives != 1 || c.Inc != 0 || c.Life != 1 {
		t.Fatalf("in phase %d of life %d, incarnation %d", c.Is, c.Life, c.Inc)
	}
	c.Own.Held, w.proves[PhaseMember] = true, Stand{Joined: true, Inc: 7}
	if said(1, "in another life"); c.Is != PhaseMember || c.Inc != 7 {
		t.Errorf("in phase %d, incarnation %d", c.Is, c.Inc)
	}
}

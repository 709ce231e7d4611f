package lease

import (
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
)

// TestARefusedEntryEndsTheLife: an entry that was stored though its maker did not hear of it refuses the next one. The heartbeat of that life would then be
// taken for one of a former life, and removed while the member holds its lease.
func TestARefusedEntryEndsTheLife(t *testing.T) {
	t.Parallel()
	s := &step{State: State{Core: coreIn(member.PhaseJoining, member.Params{}), known: &facts{}, beat: beat{version: "7", count: 3}}}
	s.Own.Key, s.Own.Held = "node/m/a-0", true
	s.joinTried(try{command: cluster.PrepareJoin{Member: "m"}, result: cluster.Result{Reason: "it is a member"}})
	if s.Is == member.PhaseJoining || s.Own.Key != "" || s.Own.Held {
		t.Errorf("phase %s with the heartbeat %+v", s.Phase(), s.Own)
	}
	for range 3 { // its supervisor has stopped all
		s.Reported = s.Given.Version
		s.Walk(s)
	}
	if s.Life != 1 {
		t.Errorf("life %d, want another one", s.Life)
	}
}

// coreIn is what a member in a phase knows.
func coreIn(is member.Phase, p member.Params) member.Core {
	c := member.NewCore(p, member.Rejoin)
	c.Is = is
	return c
}

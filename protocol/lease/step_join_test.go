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
	s := &step{State: State{Core: member.Core{Is: member.PhaseJoining}, known: &facts{}, beat: beat{key: "node/m/a-0", version: "7", count: 3}}}
	s.beat.Held = true
	s.joinTried(try{command: cluster.PrepareJoin{Member: "m"}, result: cluster.Result{Reason: "it is a member"}})
	if s.Is == member.PhaseJoining || s.beat.key != "" || s.beat.Held {
		t.Errorf("phase %s with the heartbeat %+v", s.Phase(), s.beat)
	}
	for range 3 { // its supervisor has stopped all
		s.Reported = s.Given.Version
		s.walk()
	}
	if s.Life != 1 {
		t.Errorf("life %d, want another one", s.Life)
	}
}

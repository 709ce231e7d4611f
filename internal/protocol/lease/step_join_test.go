package lease

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// TestARefusedEntryEndsTheLife: an entry that was stored though its maker did not hear of it refuses the next one. The heartbeat of that life would then be
// taken for one of a former life, and removed while the member holds its lease.
func TestARefusedEntryEndsTheLife(t *testing.T) {
	t.Parallel()
	s := &step{State: &State{Core: coreIn(member.PhaseJoining, member.Params{}), known: &facts{}}}
	s.Own.Key, s.Own.Held = "node/m/a-0", true
	s.joinTried(try{attempt: attempt{command: cluster.PrepareJoin{Member: "m"}, result: cluster.Result{Reason: "it is a member"}}})
	if s.Is == member.PhaseJoining || s.Own.Key != "" || s.Own.Held {
		t.Errorf("phase %d with the heartbeat %+v", s.Is, s.Own)
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

// TestAFenceIsALapse: a renewal that was on its way when the session was fenced is refused. The member stops what it runs at once.
func TestAFenceIsALapse(t *testing.T) {
	t.Parallel()
	s := State{Core: coreIn(member.PhaseMember, member.Params{Member: "m", Nonce: "a", Timing: heartbeat.Timing{TTL: time.Second}}), known: &facts{}, random: 1, held: []held{{id: "x"}}}
	s.Own = member.Own{Lease: heartbeat.Lease{Held: true, Acked: 1, TTL: time.Second}, Asking: heartbeat.Asking{Busy: true}, Key: "node/m/a-0"}
	s.Given = protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{Partition: "x"}}, ValidUntil: 1000}
	Step(&s, member.Renewed{Now: 10, Sent: 5, Key: "node/m/a-0", Outcome: outbox.Refused})
	if s.Is != member.PhaseRemoved || len(s.held) != 0 || s.Assigned().ValidUntil != 0 || len(s.Assigned().Grants) != 0 || s.Inc != 0 {
		t.Errorf("phase %d, it holds %v and is to run %+v", s.Is, s.held, s.Assigned())
	}
}

package lease

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// TestARefusedEntryEndsTheLife: an entry that was stored though its maker did not hear of it refuses the next one. The heartbeat of that life would then be
// taken for one of a former life, and removed while the member holds its lease.
func TestARefusedEntryEndsTheLife(t *testing.T) {
	t.Parallel()
	s := &step{State: State{Core: coreIn(member.PhaseJoining, member.Params{}), known: &facts{}}}
	s.Own.Key, s.Own.Held = "node/m/a-0", true
	s.joinTried(try{attempt: attempt{command: cluster.PrepareJoin{Member: "m"}, result: cluster.Result{Reason: "it is a member"}}})
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

// TestAFenceIsALapse: a renewal that was on its way when the session was fenced is refused. The member stops what it runs at once.
func TestAFenceIsALapse(t *testing.T) {
	t.Parallel()
	s := State{Core: coreIn(member.PhaseMember, member.Params{Member: "m", Nonce: "a", TTL: time.Second}), known: &facts{}, random: 1, held: []held{{id: "x"}}}
	s.Own = member.Own{Lease: heartbeat.Lease{Held: true, Acked: 1, TTL: time.Second}, Asking: heartbeat.Asking{Busy: true}, Key: "node/m/a-0"}
	s.Given = protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{Partition: "x"}}, ValidUntil: 1000}
	s, _ = Step(s, member.Renewed{Now: 10, Sent: 5, Key: "node/m/a-0", Outcome: outbox.Refused})
	if s.Is != member.PhaseRemoved || len(s.held) != 0 || s.Assigned().ValidUntil != 0 || len(s.Assigned().Grants) != 0 || s.Incarnation() != 0 {
		t.Errorf("phase %s, it holds %v and is to run %+v", s.Phase(), s.held, s.Assigned())
	}
}

// TestLeaderLeaves: a leader that has left lets the board tell what is free, and goes. What comes in between does not keep it.
func TestLeaderLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*paper) // the survey
		lost   string       // why the survey failed
		tells  bool         // what is free
	}{
		"in order":          {tells: true},
		"the store is away": {lost: "the store does not answer"},
		"another one leads": {before: func(p *paper) {
			p.put(written(keyLeader, p.docs[keyLeader].Version, leaderDoc{Holder: "b/n-0", Term: 2}))
		}},
		"the board is damaged": {before: func(p *paper) { p.put(store.Doc{Key: keyBoard, Version: p.docs[keyBoard].Version, Value: []byte("{")}) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPaper(t)
			s, inc := ruler(t, p)
			p.join("b/n-0")
			p.submit("x", cluster.TaskSpec{Type: "noop"})
			p.pass()
			p.claim("x", s.Session(), inc)
			p.must(cluster.LeaveCluster{Member: "a", Incarnation: inc}, s.Session())
			s.Is, s.Inc = member.PhaseLeaving, 0
			s.End()
			s.settle()
			survey := only[Survey](t, s)
			if c.before != nil {
				c.before(p)
			}
			ev := calls(lagging{paper: p, list: p.all()}).Call(context.Background(), survey).(Surveyed)
			if c.lost != "" {
				ev.Docs, ev.Err = nil, c.lost
			}
			s.surveyed(ev)
			s.settle()
			if !c.tells {
				if s.Is != member.PhaseGone {
					t.Errorf("it is %v, and does %+v", s.Is, s.End())
				}
				return
			}
			w := only[Write](t, s)
			if b, err := read[boardDoc](store.Doc{Version: "1", Value: w.Doc.Value}); err != nil || len(b.Free) != 1 || b.Free[0].Partition != "x" || b.Free[0].First != "b" || b.Term != 1 {
				t.Errorf("the board says %s", w.Doc.Value)
			}
			if s.settle(); s.Is != member.PhaseLeaving {
				t.Errorf("it is %v while the board is being written", s.Is)
			}
			s.written(Written{ID: w.ID, Outcome: outbox.Unknown, Err: "no answer"}) // it is told once
			if s.settle(); s.Is != member.PhaseGone {
				t.Errorf("it is %v", s.Is)
			}
		})
	}
}

// only is the one effect of its type since the last look.
func only[E member.Effect](t *testing.T, s *step) (out E) {
	t.Helper()
	n := 0
	fx := s.End()
	for _, e := range fx {
		if e, ok := e.(E); ok {
			out = e
			n++
		}
	}
	if n != 1 {
		t.Fatalf("it does %+v, want one %T", fx, out)
	}
	return out
}

package sync

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// announced are the epochs that the member asks for.
func announced(fx []member.Effect) (out []cluster.Epoch) {
	for _, a := range appends(fx) {
		for _, c := range a.Entry.Commands {
			if e, ok := c.(cluster.Epoch); ok {
				out = append(out, e)
			}
		}
	}
	return out
}

// TestALeaderDoesNotGuess: an epoch of a higher generation says that a leader is out of date, or that the group was forgotten. A heartbeat that was sent after it
// says which; before it is answered, nothing is announced.
func TestALeaderDoesNotGuess(t *testing.T) {
	t.Parallel()
	for _, a := range []Answer{Agreed, Outside} {
		r := newRig(t)
		r.step(member.Woken{Now: 1})
		r.read(2)
		self := cluster.PrepareJoin{Member: "a", Heartbeat: heartbeatOf("m1")}
		r.step(Joined{Now: 3, ID: "m1", Generation: 1, Leads: true, Members: []Companion{{Join: self}}, Answer: Agreed})
		r.step(Synced{Now: 5, Sent: 4, Answer: Agreed})
		r.write(2000, r.epoch(7, map[cluster.MemberID]string{"b": "m2"}))
		now := protocol.Instant(time.Second)
		guessed := announced(r.read(now))
		guessed = append(guessed, announced(r.step(member.Woken{Now: now + 1}))...)
		guessed = append(guessed, announced(r.step(Beaten{Now: now + 2, Sent: now - 1, Answer: Agreed}))...)
		if len(guessed) > 0 {
			t.Errorf("announced %v before the group has said which generation is its present one", guessed)
		}
		got := announced(r.step(Beaten{Now: now + 10, Sent: now + 3, Answer: a}))
		if forgotten := a == Agreed; forgotten && (len(got) != 1 || got[0].Start != 2 || got[0].Generation != 1) || !forgotten && len(got) > 0 {
			t.Errorf("after the answer %d it announces %v", a, got)
		}
	}
}

// TestAnEpochOfAFormerStart: the group was forgotten and counts generations from 1 again. The log has an epoch of that number, written by the former start
// of this member. The new generation is announced all the same: its members have new identifiers.
func TestAnEpochOfAFormerStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.epoch(1, map[cluster.MemberID]string{"a": "m0"})
	e.Leader = "a"
	r.write(1000, e)
	r.step(member.Woken{Now: 1})
	r.read(2)
	self := cluster.PrepareJoin{Member: "a", Heartbeat: heartbeatOf("m1")}
	r.step(Joined{Now: 3, ID: "m1", Generation: 1, Leads: true, Members: []Companion{{Join: self}}, Answer: Agreed})
	r.step(Synced{Now: 5, Sent: 4, Answer: Agreed})
	now := protocol.Instant(time.Second)
	got := announced(r.read(now))
	got = append(got, announced(r.step(Beaten{Now: now + 10, Sent: now + 3, Answer: Agreed}))...)
	if len(got) != 1 || got[0].Start != 2 || got[0].Generation != 1 || got[0].Members[0].Join.Heartbeat != self.Heartbeat {
		t.Errorf("it announces %v", got)
	}
}

// TestHeartbeatsKeepTheirPlaces: a heartbeat that was sent late puts off none of the next ones, so the members of a
// generation send theirs together. The eighth after the last one of a silent member is sent right after the group has
// given that one up, and brings the news.
func TestHeartbeatsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	const fact = protocol.Instant(5 * time.Second)
	s := &step{State: &State{Reader: fold.Reader{Core: member.NewCore(member.Params{Timing: heartbeat.Timing{TTL: rigTTL}}, member.Resume)}}}
	s.group.fact = fact
	last := fact
	for range 8 {
		s.renewed(last.Add(rigTTL / 20)) // as late as that
		if late := s.group.next.Sub(last); late <= 0 || late > rigTTL/7 {
			t.Fatalf("the next heartbeat comes %s after the place of the last one", late)
		}
		last = s.group.next
	}
	if late := last.Sub(fact) - rigTTL; late <= 0 || late > rigTTL/50 {
		t.Errorf("the eighth heartbeat is sent %s after the TTL", late)
	}
}

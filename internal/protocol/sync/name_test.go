package sync

import (
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// second is a start of a in the group, beside another start of a that the epoch names.
func second(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.step(member.Woken{Now: 1})
	r.read(2)
	r.step(Joined{Now: 3, ID: "m9", Generation: 1, Answer: Agreed})
	r.step(Synced{Now: 4, Sent: 3, Answer: Agreed})
	r.write(2000, r.epoch(1, map[cluster.MemberID]string{"a": "m1", "b": "m2"}))
	r.read(5)
	return r
}

// beats lets the group agree to a heartbeat each second, from one time to another, and returns why the member halted.
func (r *rig) beats(from, to time.Duration) error {
	for at := from; at <= to; at += time.Second {
		for _, e := range r.step(Beaten{Now: protocol.Instant(at), Sent: protocol.Instant(at - time.Millisecond),
			Answer: Agreed}) {
			if h, ok := e.(member.Halt); ok {
				return h.Err
			}
		}
	}
	return nil
}

// TestNameTakenThroughAChange: a start whose name another one has gives up in time, also where the group changes
// meanwhile.
func TestNameTakenThroughAChange(t *testing.T) {
	t.Parallel()
	r := second(t)
	change := namesLast*rigTTL - time.Second
	if err := r.beats(time.Second, change); err != nil {
		t.Fatalf("too early: %v", err)
	}
	now := protocol.Instant(change)
	r.step(Beaten{Now: now, Sent: now, Answer: Again})
	r.step(Joined{Now: now + 1, ID: "m9", Generation: 2, Answer: Agreed})
	r.step(Synced{Now: now + 2, Sent: now + 1, Answer: Agreed})
	r.write(3000, r.epoch(2, map[cluster.MemberID]string{"a": "m1", "b": "m2"}))
	r.read(now + 3)
	var taken *protocol.NameTakenError
	if err := r.beats(change+time.Second, change+3*time.Second); !errors.As(err, &taken) {
		t.Errorf("got %v in phase %d", err, r.state.Is)
	}
}

// TestNameOfTheDead: while the group does not answer, nobody can say that the other start lives. It is out of the group
// soon after.
func TestNameOfTheDead(t *testing.T) {
	t.Parallel()
	r := second(t)
	must.Succeed(t, r.beats(time.Second, rigTTL))
	for at := rigTTL; at < 2*namesLast*rigTTL; at += time.Second {
		r.step(Beaten{Now: protocol.Instant(at), Sent: protocol.Instant(at - time.Second), Answer: Failed, Err: "away"})
	}
	if err := r.beats(2*namesLast*rigTTL, 2*namesLast*rigTTL+rigTTL); err != nil {
		t.Fatalf("the other one had no time to be lost: %v", err)
	}
	r.write(3000, r.epoch(2, map[cluster.MemberID]string{"a": "m9", "b": "m2"}))
	r.read(protocol.Instant(2*namesLast*rigTTL + rigTTL + 1))
	if !r.joined() {
		t.Errorf("the member is in phase %d", r.state.Is)
	}
}

// TestNothingIsSharedWithADrain: an entry that drains a member, or ends that, shares nothing with it: the share would
// come first, and count.
func TestNothingIsSharedWithADrain(t *testing.T) {
	t.Parallel()
	for command, want := range map[cluster.Command]bool{ // order-free: each on a rig of its own
		cluster.DrainMember{Member: "b", On: true}: false,
		cluster.DrainMember{Member: "a"}:           false,
		cluster.KillJob{Job: "none"}:               true,
	} {
		r := newRig(t)
		r.step(member.Woken{Now: 1})
		r.read(2)
		r.step(Joined{Now: 3, ID: "m1", Generation: 1, Answer: Agreed})
		r.step(Synced{Now: 5, Sent: 4, Answer: Agreed})
		r.write(2000, r.epoch(1, map[cluster.MemberID]string{"a": "m1"}))
		own := appends(r.read(6))
		r.step(Joined{Now: 7, ID: "m1", Generation: 2, Answer: Agreed}) // as after a heartbeat that was answered with Again
		r.state.group.generation, r.state.group.need = 2, needBeat
		r.step(member.Proposed{Now: 8, ID: 1, Commands: []cluster.Command{command}})
		r.write(3000, r.epoch(2, map[cluster.MemberID]string{"a": "m1", "b": "m2"}))
		r.read(9)
		if len(own) != 1 {
			t.Fatalf("%d appends after the epoch", len(own))
		}
		shared, asked := false, false
		for _, a := range appends(r.step(member.Appended{Now: 10, Seq: own[0].Entry.Seq, Outcome: outbox.NotDone})) {
			t.Fatalf("appended at once: %v", a.Entry)
		}
		for _, a := range appends(r.step(member.Woken{Now: protocol.Instant(time.Second)})) {
			for _, c := range a.Entry.Commands {
				_, share := c.(cluster.Share)
				shared, asked = shared || share, asked || c == command
			}
		}
		if !asked || shared != want {
			t.Errorf("%s: the request is in the entry: %t, shares are: %t", command, asked, shared)
		}
	}
}

// TestPickUpIsSaid: a member says what came to it while its first list was on its way.
func TestPickUpIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.step(member.Woken{Now: 1})
	r.read(2)
	r.step(Joined{Now: 3, ID: "m1", Generation: 2, Answer: Agreed})
	r.step(Synced{Now: 5, Sent: 4, Answer: Agreed})
	r.write(1500, r.epoch(1, map[cluster.MemberID]string{"b": "m2"}))
	r.write(2000, r.epoch(2, map[cluster.MemberID]string{"a": "m1", "b": "m2"}))
	first := appends(r.read(6)) // a owns nothing yet
	p, _ := r.value.Partition("j#0")
	if !r.write(2500, cluster.Share{Partition: p.ID, Token: p.Token, To: "a"}) ||
		!r.write(2600, cluster.Stopped{Partition: p.ID, Token: p.Token}) || len(first) != 1 {
		t.Fatalf("%d appends after the epoch, and %v", len(first), p)
	}
	e := first[0].Entry
	e.Index = r.value.Index() + 1
	message := must.Get(EncodeRecord(e, "1.2/a"))(t)
	r.log = append(r.log, store.Record{Index: uint64(e.Index), Data: Binary(message)})
	r.value, _ = r.value.Apply(e)
	r.step(member.Appended{Now: 7, Seq: e.Seq, Outcome: outbox.Done, Index: e.Index})
	for _, a := range appends(r.read(8)) {
		for _, c := range a.Entry.Commands {
			if o, ok := c.(cluster.Own); ok && len(o.Partitions) == 1 && o.Partitions[0].Partition == p.ID {
				return
			}
		}
	}
	t.Error("it has picked a partition up, and says nothing")
}

func appends(fx []member.Effect) (out []Append) {
	for _, e := range fx {
		if a, ok := e.(Append); ok {
			out = append(out, a)
		}
	}
	return out
}

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

// TestALeaderDoesNotGuess: an epoch of a higher generation says that a leader is out of date, or that the group was
// forgotten. A heartbeat that was sent after it says which; before it is answered, nothing is announced.
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
		if forgotten := a == Agreed; forgotten && (len(got) != 1 || got[0].Start != 2 || got[0].Generation != 1) ||
			!forgotten && len(got) > 0 {
			t.Errorf("after the answer %d it announces %v", a, got)
		}
	}
}

// TestAnEpochOfAFormerStart: the group was forgotten and counts generations from 1 again. The log has an epoch of that
// number, written by the former start of this member. The new generation is announced all the same: its members have
// new identifiers.
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
	if len(got) != 1 || got[0].Start != 2 || got[0].Generation != 1 ||
		got[0].Members[0].Join.Heartbeat != self.Heartbeat {
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

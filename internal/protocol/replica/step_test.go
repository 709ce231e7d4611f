package replica_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// bench drives one member by hand: a log and a clock, and nothing happens unless the test says so.
type bench struct {
	t     *testing.T
	state replica.State
	now   protocol.Instant
	log   []store.Record
	fx    []member.Effect // since the last look
}

const benchTTL = 10 * time.Second

func benchParams(h member.Hints) member.Params {
	return member.Params{
		Member: "m", Join: cluster.PrepareJoin{Member: "m"}, Nonce: "n",
		Timing: heartbeat.Timing{TTL: benchTTL, Rho: 50, Margin: benchTTL / 20},
		Hints:  h, Poll: benchTTL / 20, Hold: time.Minute, SnapshotEvery: 1000,
	}
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: protocol.Instant(time.Hour), state: replica.NewState(benchParams(member.Hints{}))}
	b.step(member.Woken{Now: b.now})
	return b
}

func (b *bench) step(ev member.Event) {
	b.fx = append(b.fx, replica.Step(&b.state, ev)...)
}

// pass lets time pass, unseen by the member.
func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

// add puts an entry into the log.
func (b *bench) add(e cluster.Entry) uint64 {
	index := uint64(len(b.log) + 1)
	b.log = append(b.log, store.Record{Index: index, Data: e.Encode()})
	return index
}

// other puts an entry of somebody else into the log, unseen by the member.
func (b *bench) other() {
	b.add(cluster.Entry{Writer: "other", Seq: uint64(len(b.log) + 1),
		Commands: []cluster.Command{cluster.Configure{Retention: 9}}})
}

// read lets the member read the log to its head.
func (b *bench) read() {
	after := uint64(b.state.Value().Index())
	b.step(member.Read{Now: b.now, Page: store.Page{Records: b.log[after:], Head: uint64(len(b.log))}})
}

// renew answers the last Renew.
func (b *bench) renew() {
	r := take[member.Renew](b)
	b.step(member.Renewed{Now: b.now, Sent: b.now, Key: r.Key, Outcome: outbox.Done})
}

// written puts the entry that the member appends last into the log and answers so.
func (b *bench) written() cluster.Entry {
	a := take[member.Append](b)
	index := b.add(a.Entry)
	b.step(member.Appended{Now: b.now, Seq: a.Entry.Seq, Outcome: outbox.Done, Index: cluster.Index(index),
		Data: b.log[index-1].Data})
	return a.Entry
}

// take returns the newest effect of a kind and forgets all effects so far.
func take[E member.Effect](b *bench) E {
	b.t.Helper()
	for _, e := range slices.Backward(b.fx) {
		if e, ok := e.(E); ok {
			b.fx = nil
			return e
		}
	}
	var none E
	b.t.Fatalf("no %T among %+v (the member is in phase %d)", none, b.fx, b.state.Is)
	return none
}

// phase is that in which the member should be; as one that takes part it must be joined.
func (b *bench) phase(want member.Phase) {
	b.t.Helper()
	if b.state.Is != want || want == member.PhaseMember && !b.state.Joined {
		b.t.Fatalf("the member is in phase %d, joined %t, want %d", b.state.Is, b.state.Joined, want)
	}
}

// jumpedOver is a member that has met its own entry, request 7, in a snapshot alone.
func jumpedOver(t *testing.T) *bench {
	b := joinedBench(t)
	b.step(member.Proposed{Now: b.now, ID: 7, Commands: []cluster.Command{cluster.Configure{Retention: 5}}})
	b.other()
	b.written()
	v := b.state.Value()
	for _, rec := range b.log[v.Index():] {
		e := must.Get(cluster.DecodeEntry(cluster.Index(rec.Index), rec.Data))(t)
		v, _ = v.Apply(e)
	}
	b.step(member.Read{Now: b.now, Truncated: true})
	take[member.ReadSnapshot](b)
	b.step(member.SnapshotRead{Now: b.now, Value: v, Found: true})
	return b
}

// TestOutcomeInSnapshot: a member that jumps over its own entry in a snapshot neither appends it for ever nor claims
// that it was not done. Found by simulation: a member that left appended one confirm-member 90,000 times.
func TestOutcomeInSnapshot(t *testing.T) {
	t.Parallel()
	b := jumpedOver(t)
	if r := take[member.Reply](b); r.ID != 7 || !r.Unknown || r.Err == "" || !b.state.Log.Busy {
		t.Errorf("got %+v, reads on %t; want an answer that the outcome is not known", r, b.state.Log.Busy)
	}
	b.step(member.Read{Now: b.now, Truncated: true})
	if b.step(member.SnapshotRead{Now: b.now, Found: true}); b.state.Value().Index() == 0 {
		t.Error("it goes back to an older snapshot")
	}
	b.pass(time.Second)
	b.step(member.Woken{Now: b.now})
	for _, e := range b.fx {
		if a, ok := e.(member.Append); ok {
			t.Errorf("appends %v again", a.Entry.Commands)
		}
	}
}

// TestWhatWasAppliedIsNotDenied: nobody hears that an entry was not done which the snapshot has applied, whatever the
// member appends after that.
func TestWhatWasAppliedIsNotDenied(t *testing.T) {
	t.Parallel()
	b := jumpedOver(t)
	var told []member.Reply
	for range 10 {
		fx := b.fx
		b.fx = nil
		for _, e := range fx {
			switch e := e.(type) {
			case member.Reply:
				told = append(told, e)
			case member.Append:
				b.fx = []member.Effect{e}
				b.written()
			}
		}
		b.pass(time.Second)
		b.step(member.Hinted{Now: b.now})
		b.read()
	}
	if v := b.state.Value(); v.Settings().Retention != 5 {
		t.Fatalf("retention %d: it was not applied", v.Settings().Retention)
	}
	if len(told) != 1 || told[0].ID != 7 || !told[0].Unknown {
		t.Errorf("told %+v, want one answer that it was applied, as far as is known", told)
	}
}

// TestSuspendedWhileJoining: a joiner that was suspended for longer than it may hold its lease begins again under
// another heartbeat. Its old one was silent: others may have accepted it and counted it out, or may be about to. Found
// by simulation: such a member read that it was joined, up to an entry before that of its removal, and ran what others
// ran.
func TestSuspendedWhileJoining(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.read()
	b.renew()
	b.other()
	join := b.written()
	b.phase(member.PhaseJoining)
	b.pass(benchTTL)
	b.step(member.Hinted{Now: b.now})
	old := join.Commands[0].(cluster.PrepareJoin).Heartbeat
	for _, e := range b.fx {
		if r, ok := e.(member.Renew); ok && r.Key == old {
			t.Error("renews a heartbeat that was silent for the TTL")
		}
	}
	b.renew()
	b.read()
	if a := b.state.Assigned(); len(a.Grants) > 0 || a.ValidUntil > 0 {
		t.Errorf("got %+v, want nothing to do under a heartbeat that was silent", a)
	}
	// Its own former attempt is no other process of this name: it replaces it at once.
	again := b.written().Commands[0].(cluster.PrepareJoin)
	if again.Heartbeat == old || again.Replaces != 2 {
		t.Errorf("got %+v, want one that replaces the attempt at index 2 under a new heartbeat", again)
	}
	b.read()
	b.phase(member.PhaseMember)
}

// TestNobodyHearsOfAHeartbeatBeforeItIsThere: a joiner that begins another life says nothing of its new heartbeat
// before the heartbeat is written. Found by simulation, seed 21: another member saw that the heartbeat of a joined
// member was not there, wrote its leave, and the store did that append when the heartbeat had long come and the member
// held a lease.
func TestNobodyHearsOfAHeartbeatBeforeItIsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.read()
	b.renew()
	a := take[member.Append](b)
	b.step(member.Appended{Now: b.now, Seq: a.Entry.Seq, Outcome: outbox.NotDone, Err: "no space"})
	b.pass(benchTTL)
	b.step(member.Woken{Now: b.now})
	b.phase(member.PhaseBeginning)
	for _, e := range b.fx {
		if a, ok := e.(member.Append); ok {
			t.Errorf("appends %v before its heartbeat is there", a.Entry.Commands)
		}
	}
	b.renew()
	b.written()
	b.read()
	b.phase(member.PhaseMember)
}

// TestSuspendedWhileConfirming: the same for one that waits to be confirmed.
func TestSuspendedWhileConfirming(t *testing.T) {
	t.Parallel()
	b := joinedBench(t)
	b.pass(benchTTL)
	b.step(member.Woken{Now: b.now})
	b.phase(member.PhaseConfirming)
	b.step(member.Reported{Now: b.now, Version: b.state.Assigned().Version})
	first := take[member.Renew](b)
	b.step(member.Renewed{Now: b.now, Sent: b.now, Key: first.Key, Outcome: outbox.Done})
	b.other()
	b.written()
	b.pass(benchTTL)
	b.step(member.Hinted{Now: b.now})
	if r := take[member.Renew](b); r.Key == first.Key || !strings.HasPrefix(r.Key, protocol.HeartbeatPrefix) {
		t.Errorf("renews %s after it was silent for the TTL", r.Key)
	}
	b.phase(member.PhaseConfirming)
}

// TestAMemberThatLeavesWithoutItsHeartbeat: the store ends the session of a member that is leaving. Found in virtual
// time: it renewed that heartbeat again and again without a pause.
func TestAMemberThatLeavesWithoutItsHeartbeat(t *testing.T) {
	t.Parallel()
	b := joinedBench(t)
	b.step(member.Stop{Now: b.now, Reason: "test"})
	b.phase(member.PhaseLeaving)
	b.pass(benchTTL / 3)
	b.step(member.Woken{Now: b.now})
	key := take[member.Renew](b).Key
	b.step(member.Renewed{Now: b.now, Sent: b.now, Key: key, Outcome: outbox.Refused})
	for _, e := range b.fx {
		if r, ok := e.(member.Renew); ok {
			t.Errorf("renews %s again, which was refused just now", r.Key)
		}
	}
	b.phase(member.PhaseLeaving)
}

// proposing is a joined member that was asked for something, and has not appended it yet. A read of the log is under
// way.
func proposing(t *testing.T) *bench {
	b := joinedBench(t)
	b.step(member.Hinted{Now: b.now})
	b.step(member.Proposed{Now: b.now, ID: 7, Commands: []cluster.Command{cluster.Configure{Retention: 5}}})
	return b
}

// replies are the answers to proposals since the last look.
func (b *bench) replies() (n int) {
	for _, e := range b.fx {
		if r, ok := e.(member.Reply); ok && r.ID == 7 && r.Err == "" && len(r.Results) == 1 && r.Results[0].Accepted {
			n++
		}
	}
	return n
}

// TestOwnEntryNeedsNoRead: what stands right behind the member's value and was written by itself is known without
// reading it.
func TestOwnEntryNeedsNoRead(t *testing.T) {
	t.Parallel()
	b := proposing(t)
	head := uint64(b.state.Value().Index())
	b.written()
	if got := uint64(b.state.Value().Index()); got != head+1 || b.replies() != 1 {
		t.Fatalf("applied up to %d with %d answers, want %d and one", got, b.replies(), head+1)
	}
	b.step(member.Read{Now: b.now, Page: store.Page{Head: head}}) // sent before
	b.phase(member.PhaseMember)
	b.other()
	b.step(member.Hinted{Now: b.now})
	if r := take[member.ReadLog](b); uint64(r.After) != head+1 {
		t.Errorf("reads behind %d, want %d", r.After, head+1)
	}
	b.read()
	if got := uint64(b.state.Value().Index()); got != head+2 || b.replies() != 0 {
		t.Errorf("applied up to %d with %d more answers, want %d and none", got, b.replies(), head+2)
	}
	b.step(member.Hinted{Now: b.now})
	b.step(member.Read{Now: b.now, Page: store.Page{Head: head + 1}}) // the log has lost its end
	b.phase(member.PhaseHalted)
}

// TestOwnEntryIsReadOnceMore: a read that was sent before the append may bring the entry again, alone or among others.
func TestOwnEntryIsReadOnceMore(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 2} {
		b := proposing(t)
		b.written()
		v := b.state.Value()
		for range others {
			b.other()
		}
		b.fx = nil
		b.step(member.Read{Now: b.now, Page: store.Page{Records: b.log, Head: uint64(len(b.log)) + 1}})
		take[member.ReadLog](b) // there is more
		if got := int(b.state.Value().Index() - v.Index()); got != others || b.replies() != 0 {
			t.Errorf("applied %d more with %d more answers, want %d and none", got, b.replies(), others)
		}
		if others == 0 && b.state.Value().Digest() != v.Digest() {
			t.Error("reading the entry again changed the value")
		}
	}
}

// TestOwnEntryBehindOthers: where somebody else's entry stands before it, the log is read.
func TestOwnEntryBehindOthers(t *testing.T) {
	t.Parallel()
	b := proposing(t)
	v := b.state.Value()
	b.other()
	b.written()
	if got := b.state.Value(); got.Index() != v.Index() || b.replies() != 0 || !b.state.Log.Hint {
		t.Fatalf("applied up to %d with %d answers: an entry before it is not known", got.Index(), b.replies())
	}
	b.read()
	if got := b.state.Value(); got.Index() != v.Index()+2 || b.replies() != 1 {
		t.Errorf("applied up to %d with %d answers, want %d and one", got.Index(), b.replies(), v.Index()+2)
	}
}

// TestFormats: behind entries of ours, a record of an older format is garbage; one of a newer format ends the member,
// which says what to do.
func TestFormats(t *testing.T) {
	t.Parallel()
	b := proposing(t)
	of := func(format byte) {
		b.log = append(b.log, store.Record{Index: uint64(len(b.log) + 1), Data: []byte{0xE7, format, 1, 'x'}})
	}
	of(1)
	b.other()
	b.read()
	b.phase(member.PhaseMember)
	if v := b.state.Value(); v.Index() != cluster.Index(len(b.log)) || v.Settings().Retention != 9 {
		t.Fatalf("applied up to %d of %d, retention %d", v.Index(), len(b.log), v.Settings().Retention)
	}
	of(99)
	b.step(member.Hinted{Now: b.now})
	b.read()
	b.phase(member.PhaseHalted)
}

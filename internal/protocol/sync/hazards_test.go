package sync

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// rig is one member, a, in a cluster with b; the test writes the topic and is the group.
type rig struct {
	t     *testing.T
	state State
	value cluster.Value // of the whole topic
	log   []store.Record
}

const rigTTL = 10 * time.Second

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, state: NewState(member.Params{
		Member: "a", Join: cluster.PrepareJoin{Member: "a"}, Nonce: "0",
		Timing: heartbeat.Timing{TTL: rigTTL, Rho: 50, Margin: time.Second},
		Poll:   100 * time.Millisecond, SnapshotEvery: 1 << 60,
	})}
	task := cluster.TaskSpec{Type: "steady", Spread: cluster.SpreadPartitioned,
		Partitions: []string{"0", "1", "2", "3"}}
	r.write(1000, cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{task}}})
	return r
}

// joined reports whether it takes part, and its generation is a fact.
func (r *rig) joined() bool {
	return r.state.Is == member.PhaseMember && r.state.group.need == needBeat
}

// write appends a record, as another member does whose clock for people shows atMS, and reports whether its command was
// accepted.
func (r *rig) write(atMS int64, c cluster.Command) bool {
	r.t.Helper()
	index := r.value.Index() + 1
	message, err := EncodeRecord(cluster.Entry{
		Writer: "b/1", Seq: uint64(index), AtMS: atMS, Commands: []cluster.Command{c},
	}, "none")
	if err != nil {
		r.t.Fatal(err)
	}
	rec := store.Record{Index: uint64(index), Data: Binary(message)}
	e, ok, err := r.value.Decode(index, rec.Data)
	if err != nil || !ok {
		r.t.Fatalf("got %t, %v", ok, err)
	}
	r.log = append(r.log, rec)
	next, done := r.value.Apply(e)
	r.value = next
	return done.Results[0].Accepted
}

func (r *rig) step(ev member.Event) []member.Effect {
	return Step(&r.state, ev)
}

// read brings the member all that is new in the topic.
func (r *rig) read(now protocol.Instant) []member.Effect {
	v := r.state.Value()
	return r.step(member.Read{Now: now, Page: store.Page{Records: r.log[v.Index():], Head: uint64(r.value.Index())}})
}

// epoch names members by their IDs in the group.
func (r *rig) epoch(generation uint64, ids map[cluster.MemberID]string) cluster.Epoch {
	c := cluster.Epoch{Start: 1, Generation: generation}
	for _, name := range []cluster.MemberID{"a", "b"} {
		if id, ok := ids[name]; ok {
			c.Members = append(c.Members,
				cluster.EpochMember{Join: cluster.PrepareJoin{Member: name, Heartbeat: heartbeatOf(id)}})
		}
	}
	c.Leader = c.Members[0].Join.Member
	return c
}

// join lets the member be one of the first epoch, with partitions.
func (r *rig) join(sent protocol.Instant) {
	r.t.Helper()
	r.step(member.Woken{Now: 1})
	r.read(2)
	r.step(Joined{Now: 3, ID: "m1", Generation: 1, Answer: Agreed})
	r.step(Synced{Now: sent + 5, Sent: sent, Answer: Agreed})
	if !r.write(2000, r.epoch(1, map[cluster.MemberID]string{"a": "m1", "b": "m2"})) {
		r.t.Fatal("the epoch was refused")
	}
	r.read(sent + 10)
	if !r.joined() || len(r.state.Assigned().Grants) == 0 {
		r.t.Fatalf("the member is in phase %d with %d grants", r.state.Is, len(r.state.Assigned().Grants))
	}
}

// asked is what a member asks of its group, and how long after an instant it does at the latest.
func (r *rig) asked(ev member.Event) string {
	for _, e := range append(r.step(ev), r.step(member.Woken{Now: r.state.group.next})...) {
		switch g := r.state.group; e.(type) {
		case JoinGroup, SyncGroup, Beat:
			return fmt.Sprintf("%T %s/%d %s after %s", e, g.id, g.generation, r.state.session(), g.asked.Sub(ev.At()))
		}
	}
	return ""
}

// TestWhatTheGroupIsAsked: a member without an answer asks again, with its ID and for the session it was given. The
// epoch of a former generation does not count, and a member that leaves asks for nothing more.
func TestWhatTheGroupIsAsked(t *testing.T) {
	t.Parallel()
	const s = protocol.Instant(time.Second)
	r := newRig(t)
	r.join(100)
	r.state.group.ttl, r.state.group.begun = 8*time.Second, 1
	for _, c := range []struct {
		ev   member.Event
		want string
	}{
		{Beaten{Now: s, Answer: Again}, "sync.JoinGroup m1/1 8s after 0s"},
		{Joined{Now: 2 * s, Answer: Again}, "sync.JoinGroup m1/1 8s after 25ms"},
		{Joined{Now: 3 * s, Answer: Failed}, "sync.JoinGroup m1/1 8s after 100ms"},
		{Joined{Now: 4 * s, ID: "m9", Session: 9, Generation: 3, Answer: Agreed}, "sync.SyncGroup m1/3 8s after 0s"},
		{Synced{Now: 5 * s, Sent: 5 * s, Answer: Agreed}, "sync.Beat m1/3 8s after 1.01s"},
	} {
		if got := r.asked(c.ev); got != c.want {
			t.Errorf("after %+v it asks by %s, want %s", c.ev, got, c.want)
		}
	}
	if (&step{&r.state}).seated() || r.state.group.begun != 0 {
		t.Errorf("seated by the epoch of a former generation: %+v", r.state.group)
	}
	r.step(member.Stop{Now: 8 * s, Reason: "test"})
	if got := r.asked(Beaten{Now: 9 * s, Answer: Outside}); got != "" || r.state.Is != member.PhaseLeaving {
		t.Errorf("who leaves, and is out, asks by %s in phase %d", got, r.state.Is)
	}
}

// TestK5OrderIsTheOffset: a writer whose clock goes back is heard all the same, and a later clock lifts no epoch above
// a newer one.
func TestK5OrderIsTheOffset(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.join(100)
	if !r.write(5, r.epoch(3, map[cluster.MemberID]string{"a": "m1"})) {
		t.Error("what was written under an earlier clock was thrown away")
	}
	if r.write(1<<40, r.epoch(2, map[cluster.MemberID]string{"b": "m2"})) {
		t.Error("an older epoch counts, because its clock is later")
	}
	r.read(200)
	v := r.state.Value()
	e, _ := v.Epoch()
	if _, there := v.Member("b"); e.Generation != 3 || there || len(r.state.Assigned().Grants) != 4 {
		t.Errorf("epoch %s, b there: %t, %d grants", e, there, len(r.state.Assigned().Grants))
	}
}

// TestK6TheEvictedStop: a member whose group does not agree any more acts until its lease ends, and no longer, whatever
// else it hears; when it hears that it is out it stops at once.
func TestK6TheEvictedStop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const sent = protocol.Instant(100)
	r.join(sent)
	until := r.state.Assigned().ValidUntil
	if until <= sent || until >= sent.Add(rigTTL) {
		t.Fatalf("the lease ends at %d, the group waits until %d", until, sent.Add(rigTTL))
	}
	for i, a := range []Answer{Failed, Again, Failed} {
		r.step(Beaten{Now: sent.Add(time.Duration(i+1) * time.Second), Sent: sent.Add(time.Duration(i) * time.Second),
			Answer: a, Err: "away"})
		r.step(member.Hinted{Now: sent.Add(time.Duration(i+1) * time.Second)})
	}
	if now := r.state.Assigned().ValidUntil; now != until {
		t.Errorf("without the group's consent the lease was moved from %d to %d", until, now)
	}
	r.step(Beaten{Now: sent.Add(5 * time.Second), Sent: sent.Add(4 * time.Second), Answer: Outside})
	if a := r.state.Assigned(); r.state.Is != member.PhaseRemoved || len(a.Grants) != 0 || a.ValidUntil != 0 {
		t.Errorf("it is in phase %d with %+v", r.state.Is, a)
	}
}

// TestK7TheSilentAreInTheSnapshot: a member that starts when the topic was trimmed knows what belongs to one that has
// said nothing since.
func TestK7TheSilentAreInTheSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(2000, r.epoch(1, map[cluster.MemberID]string{"b": "m2"}))
	r.step(member.Woken{Now: 1})
	if fx := r.step(member.Read{Now: 2, Truncated: true}); len(fx) == 0 {
		t.Fatal("nothing was asked for")
	}
	v := must.Get(cluster.DecodeSnapshot(r.value.Snapshot()))(t)
	r.step(member.SnapshotRead{Now: 3, Value: v, Found: true})
	r.read(4)
	owned, value := 0, r.state.Value()
	for p := range value.Partitions() {
		if p.Owner == "b" {
			owned++
		}
	}
	if e, ok := value.Epoch(); owned != 4 || !ok || e.Generation != 1 || r.state.Is != member.PhaseJoining ||
		r.state.group.need == needBeat {
		t.Errorf("%d partitions of b, epoch %s, phase %d", owned, e, r.state.Is)
	}
}

// TestK8MissedEpochs: a member that was out of one epoch and in the next one, and reads both at once, runs nothing on:
// it stops all, and comes back as a new one.
func TestK8MissedEpochs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.join(100)
	before := r.state.Assigned()
	r.write(3000, r.epoch(2, map[cluster.MemberID]string{"b": "m2"}))
	r.write(4000, r.epoch(3, map[cluster.MemberID]string{"a": "m1"}))
	if p, _ := r.value.Partition(before.Grants[0].Partition); p.Owner != "a" || p.Token == before.Grants[0].Token {
		t.Fatalf("%s belongs to %q under %d", p.ID, p.Owner, p.Token)
	}
	removed := false
	for _, e := range r.read(200) {
		_, is := e.(member.Removing)
		removed = removed || is
	}
	if a := r.state.Assigned(); !removed || r.state.Is != member.PhaseRemoved || len(a.Grants) != 0 ||
		a.Version == before.Version {
		t.Errorf("removed %t, it is in phase %d with %+v", removed, r.state.Is, a)
	}
	// The answer to a call of the former membership says nothing about the next one.
	r.step(member.Reported{Now: 300, Version: r.state.Assigned().Version})
	r.step(GroupLeft{Now: 310})
	r.step(Joined{Now: 320, ID: "m3", Generation: 4, Answer: Agreed})
	r.read(330)
	if len(r.state.Assigned().Grants) != 0 || r.joined() {
		t.Errorf("it is in phase %d before an epoch names it", r.state.Is)
	}
}

// TestAnotherHistoryIsNotReadOn: the topic was written anew, up to the same offset. The next record names what its
// writer has read; the store is asked, has something else than the member has read from it, and the member ends instead
// of going on from what nobody shares.
func TestAnotherHistoryIsNotReadOn(t *testing.T) {
	t.Parallel()
	for _, rewritten := range []bool{true, false} {
		r := newRig(t)
		r.join(100)
		read := member.PointOf(r.state.Value())
		message, err := EncodeRecord(cluster.Entry{Writer: "b/1", Seq: 99, BaseIndex: read.Index,
			BaseChain: read.Chain + 1}, "none")
		must.Succeed(t, err)
		next := store.Record{Index: uint64(read.Index + 1), Data: Binary(message)}
		fx := r.step(member.Read{Now: 200, Page: store.Page{Records: []store.Record{next}, Head: next.Index}})
		i := slices.IndexFunc(fx, func(e member.Effect) bool { _, ok := e.(member.CheckLog); return ok })
		if i < 0 {
			t.Fatalf("the store is not asked: %+v", fx)
		}
		has := member.PointOf(r.state.Value())
		if rewritten {
			has.Chain++
		}
		fx = r.step(member.LogChecked{Now: 210, Asked: fx[i].(member.CheckLog).At, Has: has})
		var diverged *protocol.DivergedError
		ended := slices.ContainsFunc(fx, func(e member.Effect) bool {
			h, ok := e.(member.Halt)
			return ok && errors.As(h.Err, &diverged)
		})
		if ended != rewritten || (r.state.Is == member.PhaseHalted) != rewritten {
			t.Errorf("rewritten %t: it ends %t, and is in phase %d", rewritten, ended, r.state.Is)
		}
	}
}

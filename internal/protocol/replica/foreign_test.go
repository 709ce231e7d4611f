package replica_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// joinedBench is a member that is joined and has nothing to say.
func joinedBench(t *testing.T) *bench {
	b := newBench(t)
	b.read()
	b.renew()
	b.written()
	b.phase(member.PhaseMember)
	b.fx = nil
	return b
}

// poison puts an entry into the log whose base chain no member can have, and lets the member read it.
func (b *bench) poison(chain cluster.Hash) cluster.Index {
	v := b.state.Value()
	index := b.add(cluster.Entry{
		Writer: "poison", Seq: uint64(len(b.log) + 1), BaseIndex: v.Index(), BaseChain: v.Chain() + chain,
		Commands: []cluster.Command{cluster.Configure{Retention: 77}},
	})
	b.step(member.Hinted{Now: b.now})
	b.fx = nil
	b.read()
	return cluster.Index(index)
}

func (b *bench) has(index cluster.Index) member.Point {
	var p member.Point
	for _, r := range b.log[:index] {
		p = member.Point{Index: cluster.Index(r.Index), Chain: cluster.Chained(p.Chain, cluster.Index(r.Index), r.Data)}
	}
	return p
}

// TestAnEntryThatNoMemberCanHaveWritten does nothing, is told of, and ends nobody whose history the store has.
func TestAnEntryThatNoMemberCanHaveWritten(t *testing.T) {
	t.Parallel()
	b := joinedBench(t)
	before := b.state.Value()
	at := b.poison(1)
	b.phase(member.PhaseMember)
	v := b.state.Value()
	if v.Index() != at || v.Digest() != before.Digest() {
		t.Fatalf("the value is at %s with digest %s, want %s with %s: the entry did something", v.Index(), v.Digest(),
			at, before.Digest())
	}
	told := false
	for _, e := range b.fx {
		if r, ok := e.(member.Refusing); ok {
			told = strings.Contains(r.Key, at.String()) && strings.Contains(r.Reason, "another history")
		}
	}
	if !told || b.state.Status().Foreign != 1 {
		t.Errorf("told %v, counted %d, want it told and counted once", told, b.state.Status().Foreign)
	}
	b.step(member.Proposed{Now: b.now, ID: 7, Commands: []cluster.Command{cluster.Configure{Retention: 5}}})
	ask := take[member.CheckLog](b) // and no append: nothing is said before the store has answered
	b.step(member.LogChecked{Now: b.now, Asked: ask.At, Has: b.has(ask.At)})
	b.phase(member.PhaseMember)
	b.written()
	if b.state.Value().Settings().Retention != 5 {
		t.Error("the member does not go on")
	}
}

// TestTheOneThatDiffersStops: the store has another history than the member has applied.
func TestTheOneThatDiffersStops(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]member.Point{"another": {Chain: 1}, "a shorter": {Index: 1}} {
		b := joinedBench(t)
		b.poison(1)
		ask := take[member.CheckLog](b)
		has := b.has(ask.At - other.Index)
		has.Chain += other.Chain
		b.step(member.LogChecked{Now: b.now, Asked: ask.At, Has: has})
		b.phase(member.PhaseHalted)
		var diverged *protocol.DivergedError
		if h := take[member.Halt](b); !errors.As(h.Err, &diverged) {
			t.Errorf("%s history: it ends with %v", name, h.Err)
		}
	}
}

// TestADoubtWithoutAnswer: the member asks again, and begins nothing meanwhile; its lease is not renewed.
func TestADoubtWithoutAnswer(t *testing.T) {
	t.Parallel()
	b := joinedBench(t)
	b.poison(1)
	lease := b.state.Assigned().ValidUntil
	for _, err := range []string{"away", "away", "away", "away", ""} { // and then it has a snapshot that is further
		ask := take[member.CheckLog](b)
		b.step(member.LogChecked{Now: b.now, Asked: ask.At, Err: err, Has: member.Point{Index: ask.At + 100}})
		b.pass(time.Second)
		b.step(member.Woken{Now: b.now})
	}
	if got := b.state.Assigned().ValidUntil; got > lease {
		t.Errorf("it holds a lease until %d, before the doubt until %d", got, lease)
	}
	b.phase(member.PhaseMember)
	take[member.CheckLog](b)
}

// TestAFloodOfForeignEntries costs one question for each rest.
func TestAFloodOfForeignEntries(t *testing.T) {
	t.Parallel()
	b := joinedBench(t)
	asked := 0
	for range 50 {
		b.poison(1)
		for _, e := range b.fx {
			if e, ok := e.(member.CheckLog); ok {
				asked++
				b.step(member.LogChecked{Now: b.now, Asked: e.At, Has: b.has(e.At)})
			}
		}
	}
	if b.phase(member.PhaseMember); asked != 1 || b.state.Status().Foreign != 50 || b.state.Log.History.Doubted {
		t.Errorf("asked %d times for %d entries, want once for 50", asked, b.state.Status().Foreign)
	}
}

// TestCheckLogReadsAsANewMember: from the snapshot on, over a page that was trimmed meanwhile.
func TestCheckLogReadsAsANewMember(t *testing.T) {
	t.Parallel()
	b := joinedBench(t)
	for range 5 {
		b.other()
	}
	st := &fixedLog{records: b.log}
	at := cluster.Index(len(b.log))
	c := replica.NewCaller(&shell.LogCaller{})
	c.Log, c.Now = st, func() protocol.Instant { return 1 }
	got := c.Call(t.Context(), member.CheckLog{At: at}).(member.LogChecked)
	if got.Has != b.has(at) || got.Err != "" {
		t.Errorf("got %+v, want %v", got, b.has(at))
	}
	b.read()
	st.snapshot, st.trimmed = store.Record{Index: uint64(at), Data: b.state.Value().Snapshot()}, uint64(at)
	if got := c.Call(t.Context(), member.CheckLog{At: 2}).(member.LogChecked); got.Has != b.has(at) {
		t.Errorf("from a snapshot: got %+v, want %v", got, b.has(at))
	}
}

// fixedLog is a log that nobody appends to.
type fixedLog struct {
	store.Full
	records  []store.Record
	snapshot store.Record
	trimmed  uint64
}

func (l *fixedLog) Snapshot(context.Context) (store.Record, error) {
	if l.snapshot.Index == 0 {
		return store.Record{}, store.ErrNotFound
	}
	return l.snapshot, nil
}

func (l *fixedLog) Read(_ context.Context, after uint64, limit int) (store.Page, error) {
	if after < l.trimmed {
		return store.Page{}, store.ErrTruncated
	}
	rest := l.records[after:]
	return store.Page{Records: rest[:min(2, limit, len(rest))], Head: uint64(len(l.records))}, nil
}

package replica_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// Who reports a death says so, so that a task that kills its owners is counted; and who has run such a task for long
// enough says that too.
func TestADeathIsCountedAndForgiven(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := uint64(0)
	other := func(c cluster.Command) {
		n++
		b.add(cluster.Entry{Writer: "other", Seq: n, Commands: []cluster.Command{c}})
	}
	other(cluster.PrepareJoin{Member: "x", Heartbeat: "pulse/x/1"})
	other(cluster.SubmitJob{Job: "poison",
		Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "t", MaxAttempts: 9}}}})
	b.read()
	b.renew()
	b.written()
	m, _ := b.state.Value().Member("m")
	x, _ := b.state.Value().Member("x")
	other(cluster.AcceptJoin{Member: "m", Incarnation: m.Incarnation, By: "x", ByIncarnation: x.Incarnation})
	b.step(member.Hinted{Now: b.now})
	b.read()
	b.phase(member.PhaseMember)

	check := take[replica.CheckHeartbeat](b)
	b.step(replica.HeartbeatSeen{Now: b.now, Key: check.Key})
	report := b.written()
	if !slices.Contains(report.Commands, cluster.Command(cluster.LeaveCluster{Member: "x", Incarnation: x.Incarnation,
		Reason: "its heartbeat is gone, for an unknown time", Died: true})) {
		t.Fatalf("it reported %v", report.Commands)
	}
	p, _ := b.state.Value().Partition("poison")
	if p.Owner != "m" || p.Deaths != 1 {
		t.Fatalf("%s", p)
	}
	b.step(member.Reported{Now: b.now, Version: b.state.Assigned().Version,
		Reports: []protocol.Report{{Partition: p.ID, Token: p.Token}}})
	forgiven := func() bool {
		return slices.ContainsFunc(b.fx, func(e member.Effect) bool {
			a, ok := e.(member.Append)
			return ok && slices.Contains(a.Entry.Commands,
				cluster.Command(cluster.Started{Partition: p.ID, Token: p.Token}))
		})
	}
	for waited := time.Duration(0); waited < time.Minute; waited += 3 * time.Second {
		if forgiven() {
			t.Fatalf("forgiven after %v", waited)
		}
		b.pass(3 * time.Second)
		b.step(member.Woken{Now: b.now})
		if slices.ContainsFunc(b.fx, func(e member.Effect) bool { _, ok := e.(member.Renew); return ok }) {
			fx := b.fx
			b.renew()
			b.fx = append(b.fx, fx...)
		}
	}
	if !forgiven() {
		t.Fatal("it ran for a minute and is not forgiven")
	}
	b.written()
	if p, _ := b.state.Value().Partition("poison"); p.Deaths != 0 || p.Owner != "m" {
		t.Errorf("%s", p)
	}
}

// An entry that no member has written makes a member whose heartbeat no store can have. It is reported like one that
// has died, and is no ghost for ever.
func TestAHeartbeatThatNoStoreCanHave(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"no key at all", "a//b", "pulse/somebody/1"} {
		b := newBench(t)
		b.add(cluster.Entry{Writer: "other", Seq: 1,
			Commands: []cluster.Command{cluster.PrepareJoin{Member: "ghost", Heartbeat: key}}})
		b.read()
		b.renew()
		b.written()
		m, _ := b.state.Value().Member("m")
		b.add(cluster.Entry{Writer: "other", Seq: 2, Commands: []cluster.Command{
			cluster.AcceptJoin{Member: "m", Incarnation: m.Incarnation, By: "ghost", ByIncarnation: 1},
		}})
		b.step(member.Hinted{Now: b.now})
		b.read()
		b.phase(member.PhaseMember)
		check := take[replica.CheckHeartbeat](b)
		st := memory.New().Open()
		c := replica.NewCaller(shell.NewLogCaller(protocol.Config{
			Member: "m", Store: st, TTL: benchTTL, Clock: func() protocol.Instant { return b.now },
		}))
		b.step(c.Call(t.Context(), check))
		report := b.written()
		if !slices.Contains(report.Commands, cluster.Command(cluster.LeaveCluster{Member: "ghost", Incarnation: 1,
			Reason: "its heartbeat is gone, for an unknown time", Died: true})) {
			t.Errorf("%q: it reported %v", key, report.Commands)
		}
		if _, ok := b.state.Value().Member("ghost"); ok {
			t.Errorf("%q: the ghost is there still", key)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// joint is a store without hints that reads the log and documents in one request.
type joint struct {
	store.Full
	mu    sync.Mutex
	gets  int
	withs [][]string
	fail  error // of the documents and the log
}

func (j *joint) Get(ctx context.Context, key string) (store.Doc, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gets++
	return j.Full.Get(ctx, key)
}

func (j *joint) ReadWith(ctx context.Context, after uint64, limit int, keys []string) (store.Page, []store.Doc, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.withs = append(j.withs, keys)
	if j.fail != nil {
		return store.Page{}, nil, j.fail
	}
	docs, err := store.GetAll(ctx, j.Full, keys)
	if err != nil {
		return store.Page{}, nil, err
	}
	page, err := j.Full.Read(ctx, after, limit)
	return page, docs, err
}

// TestARoutineLookGoesWithTheLog: it waits for the next read of the log, but not for long; any other look goes at once.
func TestARoutineLookGoesWithTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		j := &joint{Full: struct{ store.Full }{memory.New().Open()}}
		clock := protocol.NewProcessClock()
		c := replica.NewCaller(shell.NewLogCaller(protocol.Config{
			Member: "m", Store: j, TTL: ttl, Logger: slog.New(slog.DiscardHandler), Clock: clock,
		}))
		v := must.Get(j.Put(t.Context(), store.Doc{Key: "pulse/o/n"}))(t)
		look := func(routine bool) (seen replica.HeartbeatSeen, took time.Duration) {
			from := time.Now()
			seen = c.Call(t.Context(),
				replica.CheckHeartbeat{Key: "pulse/o/n", Routine: routine}).(replica.HeartbeatSeen)
			return seen, time.Since(from)
		}
		later := func(d time.Duration) {
			time.AfterFunc(d, func() { c.Call(t.Context(), member.ReadLog{}) })
		}
		if seen, took := look(false); seen.Version != v || took != 0 || j.gets != 1 {
			t.Errorf("at once: %+v after %s, %d gets", seen, took, j.gets)
		}
		later(ttl / 20)
		if seen, took := look(true); seen.Version != v || took != ttl/20 || j.gets != 1 || len(j.withs) != 1 {
			t.Errorf("with the log: %+v after %s, %d gets, %q", seen, took, j.gets, j.withs)
		}
		if seen, took := look(true); seen.Version != v || took != ttl/10 || j.gets != 2 || len(j.withs) != 1 {
			t.Errorf("nobody reads the log: %+v after %s, %d gets, %q", seen, took, j.gets, j.withs)
		}
		j.fail = errors.New("away")
		later(ttl / 20)
		if seen, _ := look(true); seen.Err == "" {
			t.Errorf("the store is away: %+v", seen)
		}
	})
}

// TestSnapshotsByTheCostOfReplay: with many tasks an entry costs much to apply again, and snapshots follow sooner than
// after SnapshotEvery entries. Else a command or a restarted member needs half a minute to read the log of 100,000
// tasks.
func TestSnapshotsByTheCostOfReplay(t *testing.T) {
	t.Parallel()
	b := joinedBench(t)
	keys := make([]string, 25_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("%05d", i)
	}
	spec := cluster.JobSpec{Version: "1",
		Tasks: []cluster.TaskSpec{{Type: "steady", Spread: cluster.SpreadPartitioned, Partitions: keys}}}
	b.add(cluster.Entry{Writer: "other", Seq: uint64(len(b.log) + 1),
		Commands: []cluster.Command{cluster.SubmitJob{Job: "j", Spec: spec}}})
	var was cluster.Index // of the former snapshot
	replay := func(entries int) int {
		for range entries {
			b.other()
		}
		b.fx = nil
		b.read()
		saved := 0
		for _, e := range b.fx {
			if s, ok := e.(member.SaveSnapshot); ok {
				saved++
				if late := b.state.Value().Applied() - s.Value.Applied(); late > cluster.BaseEvery || s.TrimTo != was {
					t.Errorf("the snapshot is %d entries behind, and frees up to %s, want %s", late, s.TrimTo, was)
				}
				was = s.Value.Index()
				b.step(member.SnapshotSaved{Now: b.now})
			}
		}
		return saved
	}
	for _, c := range []struct{ entries, want int }{{64, 0}, {64, 1}, {50, 0}, {78, 1}} {
		if got := replay(c.entries); got != c.want {
			t.Errorf("%d snapshots after %d entries more, want %d", got, c.entries, c.want)
		}
	}
}

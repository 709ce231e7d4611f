package node

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/schedule"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// ledger is which shares run, and the largest disagreement that was seen.
type ledger struct {
	mu     sync.Mutex
	runs   map[string]bool // "index/count"
	faults []string
}

func (l *ledger) begin(g *work.Grant) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	me := fmt.Sprintf("%d/%d", g.Index, g.Count)
	for other := range l.runs {
		var index, count int64
		_, _ = fmt.Sscanf(other, "%d/%d", &index, &count)
		if count != g.Count || index == g.Index {
			l.faults = append(l.faults, me+" begins beside "+other)
		}
	}
	l.runs[me] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.runs, me)
	}
}

// whole tells whether all shares of n run, each once, and nothing else.
func (l *ledger) whole(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		if !l.runs[fmt.Sprintf("%d/%d", i, n)] {
			return false
		}
	}
	return len(l.runs) == n
}

// cable is a store that can be cut off. A member on it needs NoSessions: they would tell others at once.
func cable(t *testing.T, s *memory.Server) *faults.Faulty {
	t.Helper()
	inner := s.Open()
	t.Cleanup(func() { inner.Close() })
	return faults.NewFaulty(inner, nil)
}

// Three members with slots come one after another, one is cut off and comes back, one leaves and comes back: each time
// every share of the new count runs once, and none runs while one of another count does.
func TestPoolIsRepartitioned(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, l := memory.New(), &ledger{runs: map[string]bool{}}
		poll := work.Type{Name: "poll", New: func(work.Definition) (work.Runner, error) {
			return work.RunnerFunc(func(ctx context.Context, g *work.Grant) error {
				end := l.begin(g)
				defer end()
				<-ctx.Done()
				return context.Cause(ctx)
			}), nil
		}}
		with := func(slots int64) func(*Config) {
			return func(c *Config) { c.Slots, c.Types = slots, work.Types{"poll": poll} }
		}
		a := start(t, s, "a", with(2))
		a.submit("input", cluster.TaskSpec{Type: "poll", Spread: cluster.SpreadPool, Repartition: true})
		await(t, "two shares run", func() bool { return l.whole(2) })
		b := cable(t, s)
		start(t, s, "b", func(c *Config) {
			with(1)(c)
			c.Store, c.NoSessions = b, true
		})
		await(t, "three shares run", func() bool { return l.whole(3) })
		c := start(t, s, "c", with(2))
		await(t, "five shares run", func() bool { return l.whole(5) })
		b.Away(true)
		await(t, "four shares run", func() bool { return l.whole(4) })
		b.Away(false)
		await(t, "five shares run again", func() bool { return l.whole(5) })
		a.leave()
		await(t, "three shares run", func() bool { return l.whole(3) })
		start(t, s, "a", with(1))
		await(t, "four shares run again", func() bool { return l.whole(4) })
		if v := c.Value(); l.faults != nil {
			t.Errorf("%q\n%s", l.faults, v)
		}
	})
}

// gated is a type whose runs end well when the gate is opened, and end when they are told to.
func gated(name string, gate <-chan struct{}) work.Type {
	return work.Type{Name: name, New: func(work.Definition) (work.Runner, error) {
		return work.RunnerFunc(func(ctx context.Context, _ *work.Grant) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}), nil
	}}
}

// on tells on how many slots a task runs, and whether it is finished.
func (b *bundle) on(job, task string) (slots int, finished bool) {
	for _, t := range b.Value().JobSlots(cluster.JobID(job)) {
		if t.Task == task {
			return len(t.Slots), t.Finished
		}
	}
	return 0, false
}

// A workflow on two members: all slots work at the first task and say at once that it is finished, then all work at the
// next; a member leaves; the job is complete, and its slots are free for the next.
func TestWorkflowRunsOnSlots(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New()
		extracted, loaded := make(chan struct{}), make(chan struct{})
		withSlots := func(c *Config) {
			c.Slots, c.DrainTimeout = 2, time.Hour
			c.Types = types()
			c.Types["extract"], c.Types["load"] = gated("extract", extracted), gated("load", loaded)
		}
		a, b := start(t, s, "a", withSlots), start(t, s, "b", withSlots)
		spec := cluster.JobSpec{Workflow: cluster.Workflow{Scheduler: schedule.TasksGreedy,
			Edges: []cluster.Edge{{From: "extract", To: "load"}}}}
		for _, name := range []string{"load", "extract"} {
			spec.Tasks = append(spec.Tasks, cluster.TaskSpec{Name: name, Type: name, Spread: cluster.SpreadPool,
				Definition: []byte(`{}`)})
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if res, err := a.Propose(ctx, cluster.SubmitJob{Job: "etl", Spec: spec}); err != nil || !res[0].Accepted {
			t.Fatalf("submit: %v %v", res, err)
		}
		running := func() int { return a.Status().Work.Counts.Running + b.Status().Work.Counts.Running }
		await(t, "extract runs on four slots",
			func() bool { n, _ := b.on("etl", "extract"); return n == 4 && running() == 4 })
		close(extracted)
		await(t, "load runs on four slots", func() bool {
			n, _ := b.on("etl", "load")
			_, done := b.on("etl", "extract")
			return n == 4 && done && running() == 4
		})
		a.leave()
		await(t, "load runs on the two slots of b", func() bool {
			n, _ := b.on("etl", "load")
			return n == 2 && b.Status().Work.Counts.Running == 2
		})
		close(loaded)
		await(t, "the job is complete and its slots are free", func() bool {
			j, _ := b.Value().Job("etl")
			return j.State == cluster.JobCompleted && b.Status().Work.Counts.Running == 0
		})
		b.submit("next", cluster.TaskSpec{Type: "stay", Spread: cluster.SpreadPool})
		await(t, "the next job has them",
			func() bool { n, _ := b.on("next", ""); return n == 2 && b.Status().Work.Counts.Running == 2 })
	})
}

package node

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/schedule"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

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

// A workflow on two members: all slots work at the first task and say at once that it is finished, then all work at the next; a member leaves; the
// job is complete, and its slots are free for the next.
func TestWorkflowRunsOnSlots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := memory.New()
		extracted, loaded := make(chan struct{}), make(chan struct{})
		withSlots := func(c *Config) {
			c.Slots, c.DrainTimeout = 2, time.Hour
			c.Types = types()
			c.Types["extract"], c.Types["load"] = gated("extract", extracted), gated("load", loaded)
		}
		a, b := start(t, s, "a", withSlots), start(t, s, "b", withSlots)
		spec := cluster.JobSpec{Workflow: cluster.Workflow{Scheduler: schedule.TasksGreedy, Edges: []cluster.Edge{{From: "extract", To: "load"}}}}
		for _, name := range []string{"load", "extract"} {
			spec.Tasks = append(spec.Tasks, cluster.TaskSpec{Name: name, Type: name, Spread: cluster.SpreadPool, Definition: []byte(`{}`)})
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if res, err := a.Propose(ctx, cluster.SubmitJob{Job: "etl", Spec: spec}); err != nil || !res[0].Accepted {
			t.Fatalf("submit: %v %v", res, err)
		}
		running := func() int { return a.Status().Work.Counts.Running + b.Status().Work.Counts.Running }
		await(t, "extract runs on four slots", func() bool { n, _ := b.on("etl", "extract"); return n == 4 && running() == 4 })
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
		await(t, "the next job has them", func() bool { n, _ := b.on("next", ""); return n == 2 && b.Status().Work.Counts.Running == 2 })
	})
}

package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

// DeadLetters is the state of a job with segments that a function could not work on.
const DeadLetters = "dead letters"

// addDeadLetters adds the flows that have dead letters. Those of a job that is completed count too, until somebody drops them or the cluster forgets the job.
func (s *Status) addDeadLetters(ctx context.Context, q store.Queue, v cluster.Value) {
	for j := range v.Jobs() {
		if j.State != cluster.JobRunning && j.State != cluster.JobCompleted {
			continue
		}
		p := Problem{State: DeadLetters, Task: string(j.ID), SinceMS: j.SinceMS, Try: "rota job dead-letters list " + string(j.ID)}
		switch dead, err := deadOf(ctx, q, &j); {
		case err != nil:
			p.Text = "not known: " + err.Error()
		case dead == 0:
			continue
		default:
			p.Text = fmt.Sprintf("%d dead letters", dead)
			s.DeadLetters += dead
		}
		s.tell(p)
	}
}

// deadOf is how many dead letters the flow of a job has; none of one that is no flow.
func deadOf(ctx context.Context, q store.Queue, j *cluster.Job) (dead int, err error) {
	graph, err := supervisor.GraphOf(j)
	if err != nil || len(graph.Edges) == 0 {
		return 0, nil //nolint:nilerr // it is no flow
	}
	shards := make([]store.Shard, 0, len(graph.Tasks))
	for _, t := range graph.Tasks {
		shards = append(shards, store.Shard{Edge: flow.DeadOf(t.Name)})
	}
	depths, err := q.Depth(ctx, supervisor.FlowName(j), shards...)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	for _, d := range depths {
		dead += int(d.Pending) //nolint:gosec // a count
	}
	return dead, err
}

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// Flow is the flow of a job: its tasks pass segments to each other through a queue.
type Flow struct {
	Name  string // in the queue: the job and the index of its submission, so that a resubmitted job never meets old segments
	Queue store.Queue
	Graph flow.Graph
	// Takers returns the number of runs that a task has in the cluster now.
	Takers func(task string) int
	// Ring says that something was changed in the flow. Hear returns a channel that is closed when any member has, from now on or shortly after, and
	// how to stop listening; it may miss some. Without them nobody is told.
	Ring func()
	Hear func() (rung <-chan struct{}, stop func())
}

// Edges is a Host that stages of flows can run on. The supervisor's is one.
type Edges interface {
	work.Host
	// Flow returns the flow of the job that g belongs to, and records that it exists.
	Flow(ctx context.Context, g *work.Grant) (Flow, error)
}

var _ Edges = (*run)(nil)

// Flow implements Edges.
func (r *run) Flow(ctx context.Context, g *work.Grant) (Flow, error) {
	switch {
	case r.s.conf.Value == nil:
		return Flow{}, errors.New("this member does not show the value")
	case r.s.conf.Queue == nil:
		return Flow{}, fmt.Errorf("the store has no queues, which flows need: %w", errors.ErrUnsupported)
	}
	job, ok := r.s.conf.Value().Job(g.Job)
	if !ok {
		return Flow{}, fmt.Errorf("job %s is not known any more", g.Job)
	}
	graph, err := GraphOf(&job)
	if err != nil {
		return Flow{}, fmt.Errorf("read the flow of job %s: %w", g.Job, err)
	}
	if err := r.noteFlow(ctx, FlowName(&job)); err != nil {
		return Flow{}, fmt.Errorf("note the flow of job %s: %w", g.Job, err)
	}
	name, bell := FlowName(&job), r.s.bell
	return Flow{
		Name: name, Queue: r.s.conf.Queue, Graph: graph, Takers: func(task string) int { return r.takers(g.Job, task) },
		Ring: func() { bell.ring(name) }, Hear: func() (<-chan struct{}, func()) { return bell.hear(name) },
	}, nil
}

// FlowPrefix is the prefix of the documents that record flows, so that their remains can be found: a queue cannot list them.
const FlowPrefix = "flow/"

// noteFlow writes the document of a flow, before there is anything in the queue.
func (r *run) noteFlow(ctx context.Context, name string) error {
	if r.s.conf.Positions == nil {
		return errors.New("this member has no documents")
	}
	_, err := r.s.conf.Positions.Put(ctx, store.Doc{Key: FlowPrefix + name, Value: []byte("{}")})
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// takers counts the slots that a task has.
func (r *run) takers(job cluster.JobID, task string) int {
	for _, t := range r.s.conf.Value().JobSlots(job) {
		if t.Task == task {
			return len(t.Slots)
		}
	}
	return 0
}

// FlowName is the name of a job's flow in the queue.
func FlowName(j *cluster.Job) string { return fmt.Sprintf("%s@%d", j.ID, j.Turn.Submitted) }

// GraphOf is the flow of a job: its tasks and the edges between them. It has no edges if the job is not a flow.
func GraphOf(j *cluster.Job) (flow.Graph, error) {
	if j.Spec == nil {
		return flow.Graph{}, nil
	}
	return SpecGraph(j.Spec)
}

// SpecGraph is GraphOf a spec.
func SpecGraph(spec *cluster.JobSpec) (flow.Graph, error) {
	var g flow.Graph
	tasks := make(map[string]flow.Task, len(spec.Tasks))
	for i := range spec.Tasks {
		t := &spec.Tasks[i]
		var d work.Definition
		if err := json.Unmarshal(t.Definition, &d); err != nil {
			return flow.Graph{}, fmt.Errorf("definition of task %q: %w", t.Name, err)
		}
		tasks[t.Name] = flow.Task{Name: t.Name, Chains: max(d.Parts, 1), Keyed: d.Keyed}
		for _, in := range d.From {
			g.Edges = append(g.Edges, flow.Edge{From: in.Task, To: t.Name, Shards: max(in.Shards, 1), By: in.By})
		}
	}
	for i := range spec.Tasks {
		name := spec.Tasks[i].Name
		if slices.ContainsFunc(g.Edges, func(e flow.Edge) bool { return e.From == name || e.To == name }) {
			g.Tasks = append(g.Tasks, tasks[name])
		}
	}
	return g, g.Check()
}

package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/schedule"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

// Flow is how far the segments of a job are.
type Flow struct {
	Name string `json:"name"` // in the queue
	// Unit is what is counted: segments, or messages where the queue does not count what is in them.
	Unit  string     `json:"unit"`
	Tasks []FlowTask `json:"tasks"` // in the order of the job
}

// FlowTask is a task of a flow. The counts are of the edges that lead to it and away from it.
type FlowTask struct {
	Task     string   `json:"task"`
	From     []string `json:"from,omitempty"`
	In       uint64   `json:"in"`      // done
	Pending  uint64   `json:"pending"` // waiting, or at work
	Out      uint64   `json:"out"`     // over all edges that lead away
	Dead     uint64   `json:"dead"`    // letters
	Sealed   bool     `json:"sealed"`  // nothing more will come to it
	Slots    int      `json:"slots"`   // on which it runs
	Complete bool     `json:"complete"`
	// State is one of reading, open, draining, sealing and complete. Waits says, for people, what the task waits for
	// before its next state. Sealers are the members that seal its output.
	State   string   `json:"state"`
	Waits   string   `json:"waits,omitempty"`
	Sealers []string `json:"sealers,omitempty"`
}

// The units of a Flow.
const (
	UnitSegments = "segments"
	UnitMessages = "messages"
)

// FlowOf asks a queue how far a job is. It is nil for a job that is no flow, or has not begun.
func FlowOf(ctx context.Context, q store.Queue, v cluster.Value, id cluster.JobID) (*Flow, error) {
	j, ok := v.Job(id)
	if !ok {
		return nil, nil
	}
	graph, err := supervisor.GraphOf(&j)
	if err != nil || len(graph.Edges) == 0 {
		return nil, err
	}
	f := &Flow{Name: supervisor.FlowName(&j), Unit: UnitMessages}
	all, err := q.Depth(ctx, f.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask how far job %s is: %w", id, err)
	}
	depths := make(map[flow.Shard]store.Depth, len(all))
	for _, d := range all {
		depths[flow.Shard(d.Shard)] = d
		if d.Segments > 0 {
			f.Unit = UnitSegments
		}
	}
	slots := v.JobSlots(id)
	for _, task := range graph.Tasks {
		t := f.task(graph, task.Name, depths)
		var members []string
		for _, s := range slotsOf(slots, t.Task) {
			t.Slots++
			if !slices.Contains(members, s.Member) {
				members = append(members, s.Member)
			}
		}
		turn, err := turnOf(ctx, q, f.Name, depths[flow.Shard{Edge: flow.EndOf(t.Task)}])
		if err != nil {
			return nil, fmt.Errorf("ask who seals task %s of job %s: %w", t.Task, id, err)
		}
		t.setState(graph, depths, members, turn)
		f.Tasks = append(f.Tasks, t)
	}
	return f, nil
}

// slotsOf are the slots of a task.
func slotsOf(all []cluster.TaskSlots, task string) []schedule.Slot {
	if i := slices.IndexFunc(all, func(t cluster.TaskSlots) bool { return t.Task == task }); i >= 0 {
		return all[i].Slots
	}
	return nil
}

func (f *Flow) task(graph flow.Graph, name string, depths map[flow.Shard]store.Depth) FlowTask {
	t := FlowTask{Task: name, Sealed: true, Dead: depths[flow.Shard{Edge: flow.DeadOf(name)}].Pending,
		Complete: depths[flow.Shard{Edge: flow.EndOf(name)}].Sealed}
	for _, e := range graph.In(name) {
		t.From = append(t.From, e.From)
	}
	for _, s := range graph.Ingress(name) {
		stored, pending := f.counts(depths[s])
		t.Sealed = t.Sealed && depths[s].Sealed
		if !graph.Source(name) {
			t.In += stored - pending
			t.Pending += pending
		}
	}
	for _, s := range graph.Egress(name) {
		stored, _ := f.counts(depths[s])
		t.Out += stored
	}
	return t
}

func (f *Flow) counts(d store.Depth) (stored, pending uint64) {
	if f.Unit == UnitSegments {
		return d.Segments, d.PendingSegments
	}
	return d.Stored, min(d.Pending, d.Stored)
}

// The states of a FlowTask, in their order.
const (
	FlowReading  = "reading"  // it reads from outside, and has not come to the end
	FlowOpen     = "open"     // tasks before it may put out more
	FlowDraining = "draining" // nothing more comes, and not all of it is done
	FlowSealing  = "sealing"  // its input is exhausted: it seals what comes after it
	FlowComplete = "complete"
)

// progress is how far some shards are.
type progress struct{ all, sealed, drained int }

func (p *progress) add(d store.Depth) {
	p.all++
	if d.Sealed {
		p.sealed++
	}
	if d.Drained() {
		p.drained++
	}
}

// setState sets the state of a task, what it waits for, and who seals. Members are those that have a slot of it; turn
// is who seals its output now.
func (t *FlowTask) setState(graph flow.Graph, depths map[flow.Shard]store.Depth, members []string, turn string) {
	var in, chains, out progress
	for _, s := range graph.Ingress(t.Task) {
		in.add(depths[s])
	}
	for _, s := range graph.Chains(t.Task) {
		chains.add(depths[s])
	}
	for _, s := range graph.Egress(t.Task) {
		out.add(depths[s])
	}
	switch {
	case t.Complete:
		t.State = FlowComplete
	case chains.drained < chains.all && len(t.From) == 0:
		t.State = FlowReading
		t.Waits = counted(chains.drained, chains.all, "parts are read to the end")
	case in.sealed < in.all:
		t.State = FlowOpen
		t.Waits = "for the end of " + strings.Join(t.unsealed(graph, depths), ", ")
	case in.drained < in.all || chains.drained < chains.all:
		t.State = FlowDraining
		t.Waits = counted(chains.drained, chains.all, "shards have put out their last state")
	default:
		t.State = FlowSealing
		t.sealing(out, members, turn)
	}
	if t.State != FlowComplete && t.Slots == 0 {
		t.Waits = strings.TrimPrefix(t.Waits+"; for a slot: nobody runs it", "; ")
	}
}

// sealing says who seals, and what is left.
func (t *FlowTask) sealing(out progress, members []string, turn string) {
	t.Sealers = members
	switch {
	case turn == "":
		t.Waits = counted(out.sealed, out.all, "shards of the output are sealed")
	case slices.Contains(members, turn):
		t.Sealers = []string{turn}
		t.Waits = "for " + turn + ", which seals the output"
	default:
		t.Waits = "for the lease of " + turn + " to end, which began to seal the output"
	}
}

// counted says how many of several are done, "" where there is only one.
func counted(done, all int, what string) string {
	if all < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d %s", done, all, what)
}

// unsealed are the tasks from which more may come.
func (t *FlowTask) unsealed(graph flow.Graph, depths map[flow.Shard]store.Depth) (from []string) {
	for _, e := range graph.In(t.Task) {
		for i := range e.Shards {
			if !depths[flow.Shard{Edge: e.Name(), Number: i}].Sealed {
				from = append(from, e.From)
				break
			}
		}
	}
	return from
}

// flowTask is the state of a task of a flow, nil if it is none, or why that is not known.
func (w Viewer) flowTask(ctx context.Context, v cluster.Value, job cluster.JobID, task string) (*FlowTask, string) {
	f, err := FlowOf(ctx, w.Queue, v, job)
	if err != nil {
		return nil, err.Error()
	}
	if f != nil {
		if i := slices.IndexFunc(f.Tasks, func(t FlowTask) bool { return t.Task == task }); i >= 0 {
			return &f.Tasks[i], ""
		}
	}
	return nil, ""
}

// turnOf is who seals the output of a task now, "" if nobody does: the message in the shard that ends the task names
// its receiver.
func turnOf(ctx context.Context, q store.Queue, name string, end store.Depth) (string, error) {
	if end.Pending == 0 || end.Sealed {
		return "", nil
	}
	all, err := q.Receive(ctx, name, store.Receive{Shard: end.Shard, Peek: true, Limit: 1})
	if errors.Is(err, store.ErrNotFound) || err == nil && len(all) == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(all[0].Data), nil
}

// DeadLetters is the state of a job with segments that a function could not work on.
const DeadLetters = "dead letters"

// addDeadLetters adds the flows that have dead letters. Those of a job that is completed count too, until somebody
// drops them or the cluster forgets the job.
func (s *Status) addDeadLetters(ctx context.Context, q store.Queue, v cluster.Value) {
	for j := range v.Jobs() {
		if j.State != cluster.JobRunning && j.State != cluster.JobCompleted {
			continue
		}
		p := Problem{State: DeadLetters, Task: string(j.ID), SinceMS: j.SinceMS, Try: "rota job dead-letters list " +
			string(j.ID)}
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

package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	t := FlowTask{Task: name, Sealed: true, Dead: depths[flow.Shard{Edge: flow.DeadOf(name)}].Pending, Complete: depths[flow.Shard{Edge: flow.EndOf(name)}].Sealed}
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

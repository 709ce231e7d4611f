package flow

import (
	"errors"
	"fmt"
	"slices"
)

// Task is a task of a flow.
type Task struct {
	Name string
	// Chains is, for a task without ingress, in how many parts it reads; at least 1.
	Chains int
	// Keyed says that the task keeps state for each shard of its ingress: one worker at a time has a shard.
	Keyed bool
}

// Edge leads segments from one task to another.
type Edge struct {
	From, To string
	Shards   int
	// By is what segments are sharded by: those with equal keys meet in one shard. "": in any.
	By string
}

// Graph is the tasks of a flow and the edges between them.
type Graph struct {
	Tasks []Task
	Edges []Edge
}

// MaxShards is how many shards an edge may have, and how many chains a task.
const MaxShards = 256

// Shard is a shard of a graph: part of an edge, or of what each task has for itself.
type Shard struct {
	Edge   string
	Number int
}

// Name is the name of an edge in the queue.
func (e Edge) Name() string { return "edge/" + e.From + "/" + e.To }

// ChainsOf is the edge that holds the positions of a task that reads from outside, or the states of one that keeps
// some.
func ChainsOf(task string) string { return "chain/" + task }

// DeadOf is the edge that holds the dead letters of a task.
func DeadOf(task string) string { return "dead/" + task }

// EndOf is the edge whose seal says that a task is complete.
func EndOf(task string) string { return "end/" + task }

// ShardOf is the shard of a key among so many, by FNV-1a: the same for all members, whatever they run on.
func ShardOf(key string, shards int) int {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return int((h >> 1) % uint64(shards)) //nolint:gosec // below the number of shards
}

// In lists the edges that lead to a task, and Out those that lead away, in order.
func (g Graph) In(task string) []Edge {
	return slices.DeleteFunc(slices.Clone(g.Edges), func(e Edge) bool { return e.To != task })
}

// Out lists the edges that lead away from a task.
func (g Graph) Out(task string) []Edge {
	return slices.DeleteFunc(slices.Clone(g.Edges), func(e Edge) bool { return e.From != task })
}

// Task finds a task.
func (g Graph) Task(name string) (Task, bool) {
	i := slices.IndexFunc(g.Tasks, func(t Task) bool { return t.Name == name })
	if i < 0 {
		return Task{}, false
	}
	return g.Tasks[i], true
}

// Source tells whether a task takes from no other.
func (g Graph) Source(task string) bool { return len(g.In(task)) == 0 }

// Keyed tells whether a task keeps state for each shard.
func (g Graph) Keyed(task string) bool {
	t, _ := g.Task(task)
	return t.Keyed
}

// Ingress lists the shards from which a task receives: those of its edges, or of its chains if it has no edges.
func (g Graph) Ingress(task string) []Shard {
	if g.Source(task) {
		return g.Chains(task)
	}
	var out []Shard
	for _, e := range g.In(task) {
		out = append(out, shards(e.Name(), e.Shards)...)
	}
	return out
}

// Chains lists the shards that hold the positions of a task that reads from outside, or the states of one that is
// keyed; none for others.
func (g Graph) Chains(task string) []Shard {
	t, _ := g.Task(task)
	switch in := g.In(task); {
	case len(in) == 0:
		return shards(ChainsOf(task), t.Chains)
	case t.Keyed:
		return shards(ChainsOf(task), in[0].Shards)
	}
	return nil
}

// Egress lists the shards that a task seals.
func (g Graph) Egress(task string) []Shard {
	var out []Shard
	for _, e := range g.Out(task) {
		out = append(out, shards(e.Name(), e.Shards)...)
	}
	return out
}

// Shards lists all shards of the flow, task by task: what it receives from, its states, its dead letters, its end.
func (g Graph) Shards() []Shard {
	var out []Shard
	for _, t := range g.Tasks {
		out = append(out, g.Ingress(t.Name)...)
		if t.Keyed {
			out = append(out, g.Chains(t.Name)...)
		}
		out = append(out, Shard{Edge: DeadOf(t.Name)}, Shard{Edge: EndOf(t.Name)})
	}
	return out
}

func shards(edge string, n int) []Shard {
	out := make([]Shard, n)
	for i := range out {
		out[i] = Shard{edge, i}
	}
	return out
}

// Check says what is wrong with a graph, nil if nothing. That it has no cycle is checked with the job.
func (g Graph) Check() error {
	var errs []error
	for i, t := range g.Tasks {
		if slices.ContainsFunc(g.Tasks[:i], func(o Task) bool { return o.Name == t.Name }) {
			errs = append(errs, fmt.Errorf("two tasks are named %q", t.Name))
		}
		if g.Source(t.Name) && (t.Chains < 1 || t.Chains > MaxShards) {
			errs = append(errs, fmt.Errorf("task %s reads in %d parts: give 1 to %d", t.Name, t.Chains, MaxShards))
		}
		if t.Keyed {
			errs = append(errs, g.checkKeyed(t.Name))
		}
	}
	for i, e := range g.Edges {
		_, from := g.Task(e.From)
		_, to := g.Task(e.To)
		switch {
		case !from:
			errs = append(errs, fmt.Errorf("the edge from %q to %q comes from nowhere: no task is named %q", e.From,
				e.To, e.From))
		case !to:
			errs = append(errs, fmt.Errorf("the edge from %q to %q leads nowhere: no task is named %q", e.From, e.To,
				e.To))
		case e.From == e.To:
			errs = append(errs, fmt.Errorf("an edge leads from %q to itself", e.From))
		case e.Shards < 1 || e.Shards > MaxShards:
			errs = append(errs, fmt.Errorf("the edge from %q to %q has %d shards: give 1 to %d", e.From, e.To, e.Shards,
				MaxShards))
		case slices.ContainsFunc(g.Edges[:i], func(o Edge) bool { return o.From == e.From && o.To == e.To }):
			errs = append(errs, fmt.Errorf("two edges lead from %q to %q", e.From, e.To))
		}
	}
	return errors.Join(errs...)
}

// checkKeyed says why a task cannot keep state by key: equal keys must meet in one shard, over all edges that lead to
// it.
func (g Graph) checkKeyed(task string) error {
	in := g.In(task)
	if len(in) == 0 {
		return fmt.Errorf("task %s is keyed, and takes from no other", task)
	}
	for _, e := range in {
		switch {
		case e.By == "":
			return fmt.Errorf("task %s is keyed, and the edge from %q has no key", task, e.From)
		case e.Shards != in[0].Shards:
			return fmt.Errorf("task %s is keyed, and its edges have %d and %d shards: give all of them as many", task,
				in[0].Shards, e.Shards)
		}
	}
	return nil
}

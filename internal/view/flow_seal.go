package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
)

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

// setState sets the state of a task, what it waits for, and who seals. Members are those that have a slot of it; turn is
// who seals its output now.
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

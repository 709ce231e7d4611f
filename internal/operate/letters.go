package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

// RetryDead puts the dead letters of a flow back to where they came from, and returns how many. Where an input is
// sealed they stay: that is refused.
func (o *Operator) RetryDead(ctx context.Context, id cluster.JobID) (n int, a Answer, err error) {
	return o.takeDead(ctx, id, "retry-dead", putBack)
}

// DropDead drops the dead letters of a flow for good, and returns how many.
func (o *Operator) DropDead(ctx context.Context, id cluster.JobID) (n int, a Answer, err error) {
	return o.takeDead(ctx, id, "drop-dead", drop)
}

// takeDead takes the dead letters that are there now. What was done before an error is in the journal too.
func (o *Operator) takeDead(ctx context.Context, id cluster.JobID, verb string,
	take letterTaker) (n int, a Answer, err error) {
	said := verb + " " + string(id)
	f, err := o.flowOf(ctx, id, said)
	if err != nil {
		return 0, a, err
	}
	for _, t := range f.graph.Tasks {
		took, failed := f.take(ctx, t.Name, take)
		if n += took; failed != nil {
			err = fmt.Errorf("take the dead letters of task %s, %d are done: %w", t.Name, n, failed)
			break
		}
	}
	a = Answer{Said: fmt.Sprintf("%s: %d", said, n), Changed: n > 0}
	if n > 0 {
		a.Unheard = supervisor.NotifyFlow(ctx, o.docs, f.name)
		a.Unjournaled = o.journal(ctx, string(id), a.Said)
	}
	if errors.Is(err, store.ErrSealed) {
		err = refused(said,
			fmt.Sprintf("%d are put back; all segments have been put into the flow, and nothing may come after them: "+
				"write what is left to a file, submit a job that reads it (files.lines with json: true), and drop it here", n),
			fmt.Sprintf("rota job dead-letters list %s --segments TASK > dead.jsonl", id))
	}
	return n, a, err
}

// deadFlow is a flow whose dead letters are taken.
type deadFlow struct {
	queue store.Queue
	name  string
	graph flow.Graph
}

func (o *Operator) flowOf(ctx context.Context, id cluster.JobID, said string) (f deadFlow, err error) {
	j, err := o.job(ctx, id)
	switch {
	case err != nil:
		return f, err
	case j == nil:
		return f, refused(said, fmt.Sprintf("there is no job %q", id), "rota job list --all")
	}
	f.queue = o.queue
	if f.graph, err = supervisor.GraphOf(j); err != nil || len(f.graph.Edges) == 0 || f.queue == nil {
		return f, refused(said, fmt.Sprintf("job %s is no flow: it has no dead letters", id), "")
	}
	f.name = supervisor.FlowName(j)
	return f, nil
}

// letterTaker does with dead letters what they are taken for, and returns with how many of them it did.
type letterTaker func(ctx context.Context, queue store.Queue, name string, letters []store.Message) (n int, err error)

// take takes the dead letters of a task that are there now.
func (f *deadFlow) take(ctx context.Context, task string, take letterTaker) (n int, err error) {
	dead := store.Shard{Edge: flow.DeadOf(task)}
	newest, err := f.newest(ctx, dead)
	if err != nil {
		return 0, err
	}
	for {
		letters, err := f.queue.Receive(ctx, f.name, store.Receive{Shard: dead, Limit: 100, Lease: 10 * time.Second})
		if err != nil || len(letters) == 0 {
			return n, err
		}
		old := letters
		// One that came while others were put back may be one of those, and would come again.
		if i := slices.IndexFunc(letters, func(m store.Message) bool { return m.Number > newest }); i >= 0 {
			old = letters[:i]
		}
		taken, err := take(ctx, f.queue, f.name, old)
		if n += taken; err != nil || len(old) < len(letters) {
			_, back := f.queue.Receive(ctx, f.name, store.Receive{Shard: dead, Return: letters[taken:]})
			return n, errors.Join(err, back)
		}
	}
}

// newest is the number of the newest message of a shard, 0 if there is none.
func (f *deadFlow) newest(ctx context.Context, shard store.Shard) (newest uint64, err error) {
	for {
		all, err := f.queue.Receive(ctx, f.name, store.Receive{Shard: shard, Peek: true, After: newest, Limit: 1000})
		if err != nil || len(all) == 0 {
			return newest, err
		}
		newest = all[len(all)-1].Number
	}
}

func drop(ctx context.Context, queue store.Queue, name string, letters []store.Message) (int, error) {
	units := make([]store.Unit, 0, len(letters))
	for _, m := range letters {
		units = append(units, store.Unit{Inputs: []store.Message{m}})
	}
	if _, err := queue.Commit(ctx, name, units...); err != nil {
		return 0, err
	}
	return len(letters), nil
}

func putBack(ctx context.Context, queue store.Queue, name string, letters []store.Message) (int, error) {
	for i, m := range letters {
		if err := putBackOne(ctx, queue, name, m); err != nil {
			return i, err
		}
	}
	return len(letters), nil
}

// putBackOne makes a message of a dead letter again. Where its input is sealed it stays: nothing may come after a seal.
func putBackOne(ctx context.Context, queue store.Queue, name string, m store.Message) error {
	letter, err := stage.ReadLetter(m.Data)
	if err != nil {
		return err
	}
	to := store.Shard{Edge: letter.Edge, Number: letter.Shard}
	_, err = queue.Commit(ctx, name, store.Unit{
		Inputs: []store.Message{m}, Outputs: []store.Put{{Shard: to, Segments: letter.Segments,
			Data: letter.Message()}},
	})
	return err
}

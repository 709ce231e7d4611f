package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

var _ work.Host = (*run)(nil)

// Emit implements Host.
func (r *run) Emit(samples ...publish.Sample) {
	if r.s.conf.Publisher == nil {
		r.s.unsent.Add(int64(len(samples)))
		return
	}
	r.s.conf.Publisher.Publish(samples...)
}

// Valid implements Host.
func (r *run) Valid(*work.Grant) bool { return r.valid() }

// valid goes by the clock at this instant, so that a process that was suspended knows before the supervisor has
// checked.
func (r *run) valid() bool {
	if r.stopped.Load() {
		return false
	}
	return r.keep || r.s.clock() < protocol.Instant(r.s.validUntil.Load())
}

// keepFinished is how many finished partitions with children a task keeps; ten times as many without.
const keepFinished = 1000

// Split implements Host. It also removes what is spent, a little more of it than it adds.
func (r *run) Split(ctx context.Context, g *work.Grant, children []cluster.Child) error {
	name := describe(g.Partition, g.Token)
	if r.s.conf.Propose == nil {
		return fmt.Errorf("split %s: this member has no way to propose", name)
	}
	results, err := r.s.conf.Propose(ctx, cluster.SplitPartition{Partition: g.Partition, Token: g.Token,
		Children: children,
		Done:     r.forgetSpent(ctx, g.Partition, len(children)+1)})
	switch {
	case err != nil:
		return fmt.Errorf("split %s: %w", name, err)
	case len(results) != 1:
		return fmt.Errorf("split %s: %w", name, errors.New("the protocol gave no result"))
	case !results[0].Accepted:
		return fmt.Errorf("split %s: refused: %s", name, results[0].Reason)
	}
	return nil
}

// Whole is the value of the whole cluster, for task types of other modules: their runs need not be those of a
// rota.Member. It is the zero value while the store is away.
func (r *run) Whole() cluster.Value {
	switch {
	case r.s.conf.Whole != nil:
		return r.s.conf.Whole()
	case r.s.conf.Value != nil:
		return r.s.conf.Value()
	}
	return cluster.Value{}
}

// mostSpent is among how many spent partitions a split chooses.
const mostSpent = 4096

// forgetSpent deletes the positions of at most n spent partitions, and returns the keys of these. They are neighbours
// anywhere among the spent: partitions that split at the same time would all take the oldest, and remove too few. A
// position that cannot be deleted stays, and so does its partition: a later split comes back to it.
func (r *run) forgetSpent(ctx context.Context, task cluster.PartitionID, n int) (keys []string) {
	if r.s.conf.Value == nil {
		return nil
	}
	n = min(n, cluster.MaxChildren)
	spent, all := r.s.conf.Value().Spent(task, keepFinished), 0
	for range spent {
		if all++; all == mostSpent {
			break
		}
	}
	skip := rand.IntN(max(all-n, 0) + 1) //nolint:gosec // it only spreads
	for p := range spent {
		if skip--; skip >= 0 {
			continue
		}
		if len(keys) == n || r.forgetPosition(ctx, p) != nil {
			break
		}
		_, _, key := p.ID.Split()
		keys = append(keys, key)
	}
	return keys
}

var _ work.Windows = (*run)(nil)

// Window implements Windows.
func (r *run) Window(g *work.Grant) (work.Window, <-chan struct{}, error) {
	if r.s.conf.Value == nil || r.s.conf.Changed == nil {
		return work.Window{}, nil, errors.New("this member does not show the value")
	}
	changed := r.s.conf.Changed()
	return work.WindowOf(r.s.conf.Value(), g), changed, nil
}

// Advance implements Windows. Positions of finished items are deleted before the items: the other way round, a crash
// would leave them.
func (r *run) Advance(ctx context.Context, g *work.Grant, w work.Window,
	c cluster.AdvanceWindow) (refused string, err error) {
	name := describe(g.Partition, g.Token)
	if r.s.conf.Propose == nil {
		return "", fmt.Errorf("advance %s: this member has no way to propose", name)
	}
	for _, p := range w.Done[:len(c.Done)] {
		if err := r.forgetPosition(ctx, p); err != nil {
			return "", fmt.Errorf("forget the position of %s: %w", p.ID, err)
		}
	}
	results, err := r.s.conf.Propose(ctx, c)
	switch {
	case err != nil:
		return "", fmt.Errorf("advance %s: %w", name, err)
	case len(results) != 1:
		return "", fmt.Errorf("advance %s: the protocol gave no result", name)
	}
	return results[0].Reason, nil
}

// forgetPosition deletes what an item has saved, unless another owner has saved since: a key may be listed again.
func (r *run) forgetPosition(ctx context.Context, p cluster.Partition) error {
	if r.s.conf.Positions == nil {
		return nil
	}
	doc, saved, err := r.storedPosition(ctx, p.ID)
	if err != nil || doc.Version == "" || saved.Token > p.Token {
		return err
	}
	err = r.s.conf.Positions.Delete(ctx, doc.Key, doc.Version)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Flow is the flow of a job: its tasks pass segments to each other through a queue.
type Flow struct {
	Name  string // in the queue: the job and the index of its submission, so that a resubmitted job never meets old segments
	Queue store.Queue
	Graph flow.Graph
	// Takers returns the number of runs that a task has in the cluster now.
	Takers func(task string) int
	// Notify says that something was changed in the flow. Subscribe returns a channel that is closed when any member
	// has changed something, from now on or shortly after, and how to unsubscribe; it may miss some. Without them
	// nobody is told.
	Notify    func()
	Subscribe func() (changed <-chan struct{}, stop func())
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
	name, signal := FlowName(&job), r.s.signal
	return Flow{
		Name: name, Queue: r.s.conf.Queue, Graph: graph, Takers: func(task string) int { return r.takers(g.Job, task) },
		Notify:    func() { signal.notify(name) },
		Subscribe: func() (<-chan struct{}, func()) { return signal.subscribe(name) },
	}, nil
}

// FlowPrefix is the prefix of the documents that record flows, so that their remains can be found: a queue cannot list
// them.
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

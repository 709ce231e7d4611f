package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// Stage is a work.Runner that makes segments of segments, or takes them out of the flow. Do is required.
type Stage struct {
	// Do works on some segments, all of one message or a part of them, and puts out what comes of them. An error, or a
	// panic, fails the batch.
	Do func(ctx context.Context, g *work.Grant, in [][]byte, out *Out) error
	// Seal is called when all segments were worked on, before the task is complete; perhaps more than once. nil for
	// none.
	Seal func(ctx context.Context, g *work.Grant) error
	// Attempts is how often a batch is tried as a whole; then its segments are tried one by one, and those that fail
	// are dead letters. Default 3; Always never gives up.
	Attempts int
}

// Input is a work.Runner that reads segments from outside. Read is required.
type Input struct {
	// Read returns the segments behind a position, nil at first, and the position behind them. End says that nothing
	// will come after them. Without any segment, and without a new position, it is asked again after Poll. What it
	// returns follows from the position: after a crash it is asked again. Of an input that reads in several parts,
	// g.Index says which of g.Count it is.
	Read func(ctx context.Context, g *work.Grant, at []byte, out *Out) (next []byte, end bool, err error)
	// Poll is how long to wait after a read that gave nothing; default 1 s.
	Poll time.Duration
	// Ahead is how often Read is called, at most, before what it gave is stored; default 1. More is faster, for a Read
	// that does not wait for what is not there yet.
	Ahead int
}

// The default settings, and how the run of a stage paces itself.
const (
	DefaultAttempts = 3
	// Always, as Attempts, tries a batch as a whole until it succeeds.
	Always = 1 << 30
	// Bound is how many messages wait in the edges from one task to another before the task that fills them is held
	// back.
	Bound = 1000

	lease    = 10 * time.Second
	messages = 16 // of one delivery, at least as a limit
	soon     = 200 * time.Millisecond

	mostMessages = 64
	lookAfter    = 8 // deliveries
	shortest     = 5 * time.Millisecond
	longest      = 500 * time.Millisecond

	// After calm with nothing to do a worker looks when something has changed, and otherwise seldom: that can get lost,
	// and nobody tells of messages that come back because their worker is dead.
	calm          = 30 * time.Second
	longestUntold = 20 * time.Second
	longestHeld   = 5 * time.Second // where others have messages
)

// Run implements work.Runner.
func (s Stage) Run(ctx context.Context, g *work.Grant) error {
	if s.Do == nil {
		return errors.New("run stage: Do is missing")
	}
	s.Attempts = cmp.Or(max(s.Attempts, 0), DefaultAttempts)
	return run(ctx, g, func(w *worker) { w.stage = &s })
}

// Run implements work.Runner.
func (i Input) Run(ctx context.Context, g *work.Grant) error {
	if i.Read == nil {
		return errors.New("run input: Read is missing")
	}
	i.Poll, i.Ahead = cmp.Or(max(i.Poll, 0), time.Second), max(i.Ahead, 1)
	return run(ctx, g, func(w *worker) { w.input = &i })
}

func run(ctx context.Context, g *work.Grant, kind func(*worker)) error {
	host, ok := g.Host.(supervisor.Edges)
	if !ok {
		return fmt.Errorf("run task %s: this host has no flows: %w", g.Task, errors.ErrUnsupported)
	}
	f, err := host.Flow(ctx, g)
	if err != nil {
		return fmt.Errorf("run task %s: %w", g.Task, err)
	}
	w := &worker{grant: g, flow: f, pause: shortest}
	kind(w)
	if err := w.fits(); err != nil {
		return fmt.Errorf("run task %s: %w", g.Task, err)
	}
	if err := w.run(ctx); err != nil {
		return fmt.Errorf("run task %s: %w", g.Task, err)
	}
	return nil
}

// fits says why a task cannot be in its place in the graph.
func (w *worker) fits() error {
	switch {
	case len(w.flow.Graph.Edges) == 0:
		return fmt.Errorf("job %s is no flow: no task of it takes from another (add from: {task: NAME})", w.grant.Job)
	case w.input == nil && w.flow.Graph.Source(w.grant.Task):
		return errors.New("it takes segments, and no edge leads to it (add from: {task: NAME})")
	case w.keyed != nil && !w.flow.Graph.Keyed(w.grant.Task):
		return errors.New("its type keeps state for each key, and the task does not say so (add keyed: true)")
	case w.keyed == nil && w.flow.Graph.Keyed(w.grant.Task):
		return errors.New("its type keeps no state (drop keyed)")
	case w.input != nil && !w.flow.Graph.Source(w.grant.Task):
		return errors.New("it reads from outside, and an edge leads to it (drop from)")
	}
	return nil
}

// worker is one run.
type worker struct {
	grant   *work.Grant
	flow    supervisor.Flow
	stage   *Stage // either
	input   *Input // or
	keyed   *Keyed // beside stage
	single  bool   // the queue refuses units with several inputs
	in, out []flow.Shard
	edges   []flow.Edge
	held    []store.Message
	pause   time.Duration
	limit   int // messages of a delivery

	idle        time.Duration   // for how long there was nothing to do
	quiet       bool            // the last look showed nothing that waits for anybody
	changed     <-chan struct{} // where it hears of changes, if it has been idle for long
	unsubscribe func()
}

func (w *worker) run(ctx context.Context) error {
	task, g := w.grant.Task, w.flow.Graph
	w.in, w.out, w.edges = g.Ingress(task), g.Egress(task), g.Out(task)
	if w.keyed != nil {
		w.in = g.Chains(task)
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer w.listen(false)
	state, next := flow.NewState(flow.Params{
		In: len(w.in), Out: len(w.out), Sink: w.stage != nil && w.stage.Seal != nil, First: w.first(),
		LookAfter: lookAfter,
	})
	for next.Do != flow.End {
		event, err := w.do(ctx, next)
		if ctx.Err() != nil {
			w.giveBack(ctx)
			return context.Cause(ctx)
		}
		if err != nil {
			if fatal(err) {
				return err
			}
			if !errors.Is(err, errTurn) {
				w.grant.Log.Warn("the flow waits for its store", "error", err)
			}
			event = flow.Failed{}
		}
		state, next = flow.Step(state, event)
	}
	return nil
}

// fatal tells whether this run cannot go on: the flow is gone, what reads or seals for it has failed, or the
// store never takes what it puts out.
func fatal(err error) bool {
	var f failure
	return errors.As(err, &f) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) ||
		errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrTooLarge) || errors.Is(err, errors.ErrUnsupported)
}

// first is the shard to begin with: runs begin at different ones.
func (w *worker) first() int {
	n := uint64(0)
	for _, c := range []byte(w.grant.Partition) {
		n = n*31 + uint64(c)
	}
	return int(n % uint64(len(w.in))) //nolint:gosec // below the number of shards
}

// begin makes the flow, if it is not there, and the first positions of an input, or states.
func (w *worker) begin(ctx context.Context) error {
	shards := w.flow.Graph.Shards()
	all := make([]store.Shard, len(shards))
	for i, s := range shards {
		all[i] = store.Shard(s)
	}
	if err := w.again(ctx, func() error { return w.flow.Queue.MakeFlow(ctx, w.flow.Name, all) }); err != nil {
		return err
	}
	if w.input == nil && w.keyed == nil {
		return nil
	}
	units := make([]store.Unit, len(w.in))
	for i, s := range w.in {
		units[i] = store.Unit{Name: fmt.Sprintf("begin/%s/%d", w.grant.Task, i),
			Outputs: []store.Put{{Shard: store.Shard(s)}}}
	}
	return w.again(ctx, func() error { return w.commit(ctx, units...) })
}

// again makes a call until it is done. All that a run does may be done again.
func (w *worker) again(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || ctx.Err() != nil || fatal(err) {
			return err
		}
		w.grant.Log.Warn("the flow waits for its store", "error", err)
		if err := w.wait(ctx, longest); err != nil {
			return err
		}
	}
}

func (w *worker) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

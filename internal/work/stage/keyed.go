package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// Keyed is a work.Runner that makes segments of segments and keeps state. Each shard of its ingress has a state, and
// one worker at a time: segments with equal keys meet there. The state is a message of the flow: its receiver owns the
// shard, and the next state is committed together with what came of a batch. So each segment is in the state once. Do
// is required.
type Keyed struct {
	// Do works on some segments of shard g.Index of g.Count and returns the state that comes after state, which is nil
	// at first. An error, or a panic, fails the batch, and the state stays as it was.
	Do func(ctx context.Context, g *work.Grant, state []byte, in [][]byte, out *Out) (next []byte, err error)
	// End is called with the last state of a shard when all its segments were worked on; what it puts out counts once.
	// nil for none.
	End func(ctx context.Context, g *work.Grant, state []byte, out *Out) error
	// Attempts is as of a Stage.
	Attempts int
}

// Run implements work.Runner.
func (k Keyed) Run(ctx context.Context, g *work.Grant) error {
	if k.Do == nil {
		return errors.New("run keyed stage: Do is missing")
	}
	k.Attempts = cmp.Or(max(k.Attempts, 0), DefaultAttempts)
	return run(ctx, g, func(w *worker) { w.keyed, w.stage = &k, &Stage{Attempts: k.Attempts} })
}

// MaxState is how many bytes the state of a shard may have.
const MaxState = MaxOutput / 2

// turn is one delivery to a keyed stage: a state, and some messages of its shard.
type turn struct {
	w       *worker
	state   state
	grant   work.Grant
	inputs  []store.Message // that are in the state now
	outputs []store.Put
	size    int
	failed  []store.Message
	end     bool
	full    bool // the rest is for the next turn
}

// receiveKeyed takes the state of a shard, and messages of that shard. Without any it takes the state only at the end
// of the shard.
func (w *worker) receiveKeyed(ctx context.Context, chain store.Shard) (flow.Event, error) {
	var err error
	w.held, err = w.flow.Queue.Receive(ctx, w.flow.Name, store.Receive{Shard: chain, Limit: 1, Lease: lease})
	if err != nil || len(w.held) == 0 {
		return flow.Received{}, err
	}
	edges := w.flow.Graph.In(w.grant.Task)
	for _, e := range edges {
		batch, err := w.flow.Queue.Receive(ctx, w.flow.Name,
			store.Receive{Shard: store.Shard{Edge: e.Name(), Number: chain.Number}, Limit: messages, Lease: lease})
		w.held = append(w.held, batch...)
		if err != nil {
			w.giveBack(ctx)
			return nil, err
		}
		if len(batch) > 0 {
			w.busy()
			return flow.Received{Some: true}, nil
		}
	}
	ended, err := w.ended(ctx, edges, chain.Number)
	if err != nil || !ended {
		w.giveBack(ctx)
	}
	return flow.Received{Some: ended}, err
}

// ended tells whether all that comes to a shard is in its state.
func (w *worker) ended(ctx context.Context, edges []flow.Edge, number int) (bool, error) {
	asked := make([]store.Shard, len(edges))
	for i, e := range edges {
		asked[i] = store.Shard{Edge: e.Name(), Number: number}
	}
	all, err := w.flow.Queue.Depth(ctx, w.flow.Name, asked...)
	return err == nil && !slices.ContainsFunc(all, func(d store.Depth) bool { return !d.Drained() }), err
}

// workKeyed takes a turn, and commits it.
func (w *worker) workKeyed(ctx context.Context) error {
	keep := w.keepLeases(ctx)
	t, err := w.take(ctx)
	if err == nil && (t.end || len(t.inputs) > 0) {
		err = t.settle(ctx)
	}
	keep()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		w.held = slices.DeleteFunc(w.held, func(m store.Message) bool { return slices.ContainsFunc(t.failed, same(m)) })
		err = w.rest(ctx, t.failed)
	}
	w.giveBack(ctx) // the state, if it is still the newest, and messages that were left
	return err
}

func same(m store.Message) func(store.Message) bool {
	return func(o store.Message) bool { return o.Shard == m.Shard && o.Number == m.Number }
}

// take works on what is held.
func (w *worker) take(ctx context.Context) (*turn, error) {
	t := &turn{w: w, grant: *w.grant, end: len(w.held) == 1}
	t.grant.Index, t.grant.Count = int64(w.held[0].Shard.Number), int64(len(w.in))
	var err error
	if t.state, err = decodeState(w.held[0].Data); err != nil {
		return t, failure{err}
	}
	w.stage.Do = t.do
	if t.end {
		return t, t.finish(ctx)
	}
	for _, m := range w.held[1:] {
		if t.full {
			break
		}
		if err := t.add(ctx, m); err != nil {
			return t, err
		}
	}
	return t, nil
}

// do is the function as that of a stage: its state changes where it succeeds.
func (t *turn) do(ctx context.Context, _ *work.Grant, in [][]byte, out *Out) error {
	next, err := t.w.keyed.Do(ctx, &t.grant, slices.Clone(t.state.data), in, out)
	if len(next) > MaxState {
		return fmt.Errorf("the state of shard %d would have %d bytes, at most %d: keep less, or give the edge more shards", t.grant.Index, len(next), MaxState)
	}
	if err == nil && out.err == nil { // what is a dead letter is not in the state
		t.state.data = next
	}
	return err
}

// add works on a message, unless it is in the state: then only its acknowledgement was lost.
func (t *turn) add(ctx context.Context, m store.Message) error {
	if t.state.has(m) {
		t.inputs = append(t.inputs, m)
		return nil
	}
	before := t.state.data
	u, err := t.w.apply(ctx, m)
	var f failure
	if errors.As(err, &f) && ctx.Err() == nil {
		t.w.grant.Log.Warn("a batch failed and is tried again", "delivered", m.Delivered, "error", f.error)
		t.failed = append(t.failed, m)
		return nil
	}
	if err != nil {
		return err
	}
	if t.size+sizeOf(u.Outputs) > MaxOutput-MaxState {
		t.state.data, t.full = before, len(t.inputs) > 0
		if t.full {
			return nil
		}
		cause := fmt.Errorf("a batch puts out %d bytes, at most %d beside a state", sizeOf(u.Outputs),
			MaxOutput-MaxState)
		u = t.w.bury(store.Unit{}, m, batchLetter(m, cause))
	}
	t.inputs = append(t.inputs, m)
	t.put(u.Outputs)
	return nil
}

func sizeOf(all []store.Put) (n int) {
	for _, p := range all {
		n += len(p.Data)
	}
	return n
}

// finish ends the shard: what the last state puts out, and a seal in place of the next state.
func (t *turn) finish(ctx context.Context) error {
	out := newOut(t.w.edges, t.w.held[0].Number)
	if end := t.w.keyed.End; end != nil {
		w := *t.w
		w.stage = &Stage{Do: func(ctx context.Context, _ *work.Grant, _ [][]byte, out *Out) error {
			return end(ctx, &t.grant, slices.Clone(t.state.data), out)
		}}
		if err := w.call(named(ctx, t.w.held[0]), [][]byte{nil}, out); err != nil {
			return failure{err}
		}
	}
	t.put(out.some())
	return nil
}

func (t *turn) put(all []store.Put) {
	for _, p := range all {
		if p.Segments > 0 || len(p.Data) > 0 {
			t.outputs = append(t.outputs, p)
			t.size += len(p.Data)
		}
	}
}

// settle commits the turn: the next state, what came of the messages, and the messages, as one fact. A queue whose
// units have one input has the state and the outputs as one fact; it notes in the state which messages are in it, and
// acknowledges them afterwards.
func (t *turn) settle(ctx context.Context) error {
	w := t.w
	held, chain := w.held, w.held[0].Shard
	if !w.single {
		fresh, err := w.persist(ctx,
			store.Unit{Inputs: append(held[:1:1], t.inputs...), Outputs: append(t.outputs, t.next(chain))})
		if !errors.Is(err, errors.ErrUnsupported) {
			return t.settled(fresh, err)
		}
		w.single = true
	}
	for _, m := range t.inputs {
		t.state.note(m)
	}
	fresh, err := w.persist(ctx, store.Unit{Inputs: held[:1], Outputs: append(t.outputs, t.next(chain))})
	if err != nil || !fresh[0] || t.end {
		return t.settled(fresh, err)
	}
	acks := make([]store.Unit, len(t.inputs))
	for i, m := range t.inputs {
		acks[i] = store.Unit{Inputs: []store.Message{m}}
	}
	return t.settled(fresh, w.commit(ctx, acks...))
}

// settled forgets what was committed. Where somebody else had the same state and was first, the messages go back.
func (t *turn) settled(fresh []bool, err error) error {
	if err == nil && fresh[0] {
		t.w.held = slices.DeleteFunc(slices.Clone(t.w.held[1:]),
			func(m store.Message) bool { return slices.ContainsFunc(t.inputs, same(m)) })
	}
	return err
}

// next is the next state, or the seal behind the last one.
func (t *turn) next(chain store.Shard) store.Put {
	if t.end {
		return store.Put{Shard: chain, Seal: true}
	}
	return store.Put{Shard: chain, Data: t.state.encode()}
}

package stage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
)

// do carries out an effect. After an error nothing is held.
func (w *worker) do(ctx context.Context, e flow.Effect) (flow.Event, error) {
	switch e.Do {
	case flow.Look:
		return w.look(ctx)
	case flow.Receive:
		return w.receive(ctx, store.Shard(w.in[e.Shard]))
	case flow.Work:
		if w.keyed != nil {
			return flow.Done{}, w.workKeyed(ctx)
		}
		return flow.Done{}, w.work(ctx)
	case flow.Pause:
		return flow.Done{}, w.doze(ctx)
	case flow.Seal:
		return flow.Done{}, w.seal(ctx, store.Shard(w.out[e.Shard]))
	case flow.Close:
		return flow.Done{}, w.close(ctx)
	}
	return flow.Done{}, w.seal(ctx, store.Shard{Edge: flow.EndOf(w.grant.Task)})
}

// look asks how far the shards are.
func (w *worker) look(ctx context.Context) (flow.Event, error) {
	asked := []store.Shard{{Edge: flow.EndOf(w.grant.Task)}}
	for _, s := range w.in {
		asked = append(asked, store.Shard(s))
	}
	for _, s := range w.out {
		asked = append(asked, store.Shard(s))
	}
	all, err := w.flow.Queue.Depth(ctx, w.flow.Name, asked...)
	if err != nil {
		return nil, err
	}
	if len(all) != len(asked) {
		return nil, fmt.Errorf("the queue told of %d shards, asked for %d", len(all), len(asked))
	}
	looked := flow.Looked{Complete: all[0].Sealed}
	pending := uint64(0)
	for _, d := range all[1 : 1+len(w.in)] {
		looked.Drained = append(looked.Drained, d.Drained())
		pending += d.Pending
	}
	looked.Held = w.full(all[1+len(w.in):])
	w.quiet = pending == 0 && !looked.Held
	return looked, nil
}

// full tells whether an edge that leads away holds this task back; depths are those of the egress, in order.
func (w *worker) full(depths []store.Depth) bool {
	for _, e := range w.edges {
		pending := uint64(0)
		for _, d := range depths[:e.Shards] {
			pending += d.Pending
		}
		depths = depths[e.Shards:]
		if pending >= Bound && flow.Hold(pending, Bound, w.flow.Takers(e.To)) {
			return true
		}
	}
	return false
}

func (w *worker) receive(ctx context.Context, s store.Shard) (flow.Event, error) {
	limit := max(w.limit, messages)
	if w.input != nil {
		limit = 1
	}
	if w.keyed != nil {
		return w.receiveKeyed(ctx, s)
	}
	var err error
	w.held, err = w.flow.Queue.Receive(ctx, w.flow.Name, store.Receive{Shard: s, Limit: limit, Lease: lease})
	if len(w.held) > 0 {
		w.busy()
	}
	return flow.Received{Some: len(w.held) > 0}, err
}

// giveBack lets others have what this run will not work on.
func (w *worker) giveBack(ctx context.Context) {
	if len(w.held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for shard, some := range byShard(w.held) {
		if _, err := w.flow.Queue.Receive(ctx, w.flow.Name, store.Receive{Shard: shard, Return: some}); err != nil {
			w.grant.Log.Debug("messages come back when their lease ends", "error", err)
		}
	}
	w.held = nil
}

func (w *worker) seal(ctx context.Context, s store.Shard) error {
	return w.commit(ctx, store.Unit{Name: fmt.Sprintf("seal/%s/%d", s.Edge, s.Number),
		Outputs: []store.Put{{Shard: s, Seal: true}}})
}

// errTurn says that another worker seals the output at this moment.
var errTurn = errors.New("another one seals the output")

// close seals the output. One worker does it at a time: others beside it would do the same, and all of them take
// longer. Whose turn it is says the lease of a message in the shard that ends the task. The message names the member,
// for people.
func (w *worker) close(ctx context.Context) (err error) {
	end, me := store.Shard{Edge: flow.EndOf(w.grant.Task)}, string(w.grant.Member)
	put := []store.Put{{Shard: end, Data: []byte(me)}}
	if err := w.commit(ctx, store.Unit{Name: "close/" + end.Edge, Outputs: put}); err != nil {
		return err
	}
	defer w.giveBack(ctx)
	take := store.Receive{Shard: end, Limit: 1, Lease: lease}
	if w.held, err = w.flow.Queue.Receive(ctx, w.flow.Name, take); err != nil {
		return err
	}
	if len(w.held) > 0 && string(w.held[0].Data) != me { // it was the turn of another one, who did not get to the end
		if err := w.commit(ctx, store.Unit{Inputs: w.held, Outputs: put}); err != nil {
			return err
		}
		if w.held, err = w.flow.Queue.Receive(ctx, w.flow.Name, take); err != nil {
			return err
		}
	}
	if len(w.held) == 0 {
		return errTurn
	}
	defer w.keepLeases(ctx)()
	if err := w.stage.Seal(ctx, w.grant); err != nil {
		return failure{fmt.Errorf("seal the output: %w", err)}
	}
	return nil
}

// work applies the function to what is held, and commits. What the function fails on is delivered again, later each
// time.
func (w *worker) work(ctx context.Context) error {
	keep, began, delivered := w.keepLeases(ctx), time.Now(), len(w.held)
	units, failed, err := w.units(ctx)
	if err == nil && ctx.Err() == nil && len(units) > 0 {
		failed, err = w.commitAll(ctx, units, failed)
	}
	keep()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		w.giveBack(ctx)
		return err
	}
	w.held = nil
	w.pace(delivered, time.Since(began))
	return w.rest(ctx, failed)
}

// pace says how many messages to take at a time: more while a whole delivery is soon done, so that others do not wait
// for what one has taken.
func (w *worker) pace(delivered int, took time.Duration) {
	switch {
	case took > soon:
		w.limit = messages
	case delivered >= w.limit:
		w.limit = min(2*max(w.limit, messages), mostMessages)
	}
}

// rest lets messages rest that have failed.
func (w *worker) rest(ctx context.Context, failed []store.Message) error {
	for _, m := range failed {
		later := store.Receive{Shard: m.Shard, Lease: backoff(m.Delivered), Keep: []store.Message{m}}
		if _, err := w.flow.Queue.Receive(ctx, w.flow.Name, later); err != nil {
			return err
		}
	}
	return nil
}

// backoff is how long a message rests that has failed so often.
func backoff(times int) time.Duration {
	return min(100*time.Millisecond<<min(times, 10), lease)
}

func (w *worker) units(ctx context.Context) (units []store.Unit, failed []store.Message, err error) {
	if w.input != nil {
		units, err = w.read(ctx, w.held[0])
		return units, nil, err
	}
	for _, m := range w.held {
		u, err := w.apply(ctx, m)
		var f failure
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case errors.As(err, &f):
			w.grant.Log.Warn("a batch failed and is tried again", "delivered", m.Delivered, "error", f.error)
			failed = append(failed, m)
		case err != nil:
			return nil, nil, err
		default:
			units = append(units, u)
		}
	}
	return units, failed, nil
}

// keepLeases lengthens the leases of what is held until the function that it returns is called.
func (w *worker) keepLeases(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	held, done := w.held, make(chan struct{})
	go func() {
		defer close(done)
		for w.wait(ctx, lease/3) == nil {
			for shard, some := range byShard(held) {
				_, err := w.flow.Queue.Receive(ctx, w.flow.Name, store.Receive{Shard: shard, Lease: lease, Keep: some})
				if err != nil && ctx.Err() == nil {
					w.grant.Log.Warn("keep the lease of a batch", "error", err)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// byShard gives messages in groups of one shard, in their order.
func byShard(all []store.Message) iter.Seq2[store.Shard, []store.Message] {
	return func(yield func(store.Shard, []store.Message) bool) {
		for from := 0; from < len(all); {
			to := from + 1
			for to < len(all) && all[to].Shard == all[from].Shard {
				to++
			}
			if !yield(all[from].Shard, all[from:to]) {
				return
			}
			from = to
		}
	}
}

// busy is called when there is something to do.
func (w *worker) busy() {
	w.pause, w.idle = shortest, 0
	w.listen(false)
}

// doze waits before the next attempt, each time longer; when nothing has happened for long, until something in the flow
// has changed.
func (w *worker) doze(ctx context.Context) error {
	if w.changed == nil {
		w.idle += w.pause
		err := w.wait(ctx, w.pause)
		w.pause = min(2*w.pause, longest)
		w.listen(w.idle >= calm && w.flow.Subscribe != nil) // and looks once more: what happened before is not heard
		return err
	}
	most := longestUntold
	if !w.quiet {
		most = longestHeld
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-w.changed:
		w.busy()
	case <-t.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// listen begins or ends to listen for changes of the flow.
func (w *worker) listen(on bool) {
	switch {
	case on && w.changed == nil:
		w.changed, w.unsubscribe = w.flow.Subscribe()
	case !on && w.changed != nil:
		w.unsubscribe()
		w.changed, w.unsubscribe = nil, nil
	}
}

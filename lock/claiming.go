package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// claiming does what a claim decides. One goroutine at a time drives it: the caller of Acquire or Release, or one in
// the background.
type claiming struct {
	c     *Client
	p     *keeper
	place string // key of the table's document; its folder is watched

	turn    chan struct{} // has room for the one who drives: a channel, so that waiting for it ends with a context
	state   claim
	hints   chan string                   // keys of heartbeats; "" for the table
	watched map[string]context.CancelFunc // what stops the watch of a prefix
	watches sync.WaitGroup
	ended   bool
	done    error // how it ended
	trouble error // of the last call
	held    atomic.Pointer[Held]
}

func (c *Client) newClaiming(p *keeper, place string, t terms) *claiming {
	t.me = entry{ID: rand.Text(), Heartbeat: p.key, TTLMS: c.o.TTL.Milliseconds(), Owner: c.o.Owner}
	t.pause, t.began = c.pause(), c.o.Clock()
	return &claiming{
		c: c, p: p, place: place, turn: make(chan struct{}, 1), hints: make(chan string, 8),
		watched: make(map[string]context.CancelFunc),
		state:   claim{terms: t, seen: c.observed()},
	}
}

// drive continues until the lock is granted (true), or the claim is gone, or ctx ends or the heartbeat is lost (all
// false): then the claim has been stopped, and the caller must drive it on. The caller has the turn.
func (r *claiming) drive(ctx context.Context, ev event) bool {
	for !r.ended {
		if _, isStop := ev.(stop); !isStop && r.state.phase < leaving && (ctx.Err() != nil || !r.p.valid()) {
			r.state, _ = r.state.step(ev)
			r.state, _ = r.state.step(stop{r.c.o.Clock()})
			return false
		}
		var fx effect
		r.state, fx = r.state.step(ev)
		if ctx.Err() != nil {
			_, gone := fx.(left)
			if !gone {
				return false
			}
		}
		switch fx := fx.(type) {
		case granted:
			r.unwatch(nil)
			return true
		case left:
			r.end(fx.err)
		case wait:
			ev = r.wait(ctx, fx)
		default:
			ev = r.call(ctx, fx)
		}
	}
	return false
}

// acquire drives the claim until it holds, or is refused. Neither (again): it has been told to stop, and has to be
// driven on; err is what the store said last.
func (r *claiming) acquire(ctx context.Context, what string) (h *Held, again bool, err error) {
	r.turn <- struct{}{} // nobody else knows of it yet but Close
	defer func() { <-r.turn }()
	switch {
	case r.drive(ctx, woken{r.c.o.Clock()}):
		return r.hold(what), false, nil
	case r.ended:
		return nil, false, r.done
	}
	return nil, true, r.trouble
}

// end frees what the claim used.
func (r *claiming) end(err error) {
	r.ended, r.done = true, err
	r.unwatch(nil)
	r.watches.Wait()
	r.c.note(r.state.seen)
	r.c.track(r, false)
	r.p.leave()
}

// call makes one call to the store and returns its answer.
func (r *claiming) call(ctx context.Context, fx effect) event {
	ctx, cancel := context.WithTimeout(ctx, r.c.patience())
	defer cancel()
	switch fx := fx.(type) {
	case readTable:
		return r.read(ctx)
	case writeTable:
		return r.write(ctx, fx)
	case lookHeartbeat:
		sent := r.c.o.Clock()
		d, err := r.c.store.Get(ctx, fx.key)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		r.trouble = err
		return heartbeatSeen{now: r.c.o.Clock(), sent: sent, key: fx.key, version: d.Version, err: err}
	}
	panic(fmt.Sprintf("lock: no call for %T", fx)) // the set of effects is closed
}

func (r *claiming) read(ctx context.Context) event {
	d, err := r.c.store.Get(ctx, r.place)
	r.trouble = err
	switch {
	case errors.Is(err, store.ErrNotFound):
		r.trouble = nil
		return tableRead{now: r.c.o.Clock()}
	case err != nil:
		return tableRead{now: r.c.o.Clock(), err: err, fatal: errors.Is(err, store.ErrClosed)}
	}
	t, err := decodeTable(d.Value)
	if err != nil {
		err = fmt.Errorf("the document %s: %w", r.place, err)
		r.trouble = err
	}
	return tableRead{now: r.c.o.Clock(), table: t, version: d.Version, err: err, fatal: err != nil}
}

func (r *claiming) write(ctx context.Context, fx writeTable) event {
	data, err := fx.table.encode()
	if err != nil {
		return tableWritten{now: r.c.o.Clock(), outcome: notDone, err: err, fatal: true}
	}
	v, err := r.c.store.Put(ctx, store.Doc{Key: r.place, Value: data, Version: fx.version})
	out := outcomeOf(err)
	if r.trouble = err; out == refused {
		r.trouble = nil
	}
	fatal := errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrTooLarge)
	return tableWritten{now: r.c.o.Clock(), outcome: out, version: v, err: err, fatal: fatal}
}

func (r *claiming) wait(ctx context.Context, w wait) event {
	r.watch(w.heartbeats)
	timer := time.NewTimer(max(0, w.until.Sub(r.c.o.Clock())))
	defer timer.Stop()
	lost := r.p.ctx.Done()
	if r.state.phase == leaving {
		lost = nil
	}
	select {
	case key := <-r.hints:
		return hinted{r.c.o.Clock(), key}
	case <-timer.C:
	case <-lost:
	case <-ctx.Done():
	}
	return woken{r.c.o.Clock()}
}

// stop tells the claim to leave, and drives it until ctx ends. A nil error: nothing of it is left in the store.
func (r *claiming) stop(ctx context.Context) error {
	if !r.takeTurn(ctx) {
		return context.Cause(ctx)
	}
	defer func() { <-r.turn }()
	if !r.ended {
		r.drive(ctx, stop{r.c.o.Clock()})
	}
	if !r.ended && r.c.ctx.Err() != nil {
		r.end(ErrClosed)
	}
	if !r.ended {
		return errors.Join(context.Cause(ctx), r.trouble)
	}
	return r.done
}

// takeTurn waits until nobody else drives the claim, or ctx ends (false). A free turn is taken under an ended ctx too,
// so that whoever comes last ends the claim of a closed client.
func (r *claiming) takeTurn(ctx context.Context) bool {
	select {
	case r.turn <- struct{}{}:
		return true
	default:
	}
	select {
	case r.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// stopLater drives the claim to its end in the background.
func (r *claiming) stopLater() {
	r.c.background(func() { _ = r.stop(r.c.ctx) }) // if it does not succeed, the heartbeat goes away, and others remove the entry
}

// watch keeps watches on the table and on some heartbeats, and ends all others. Without watches, or if they cannot be
// set up, polling must suffice.
func (r *claiming) watch(heartbeats []string) {
	w, ok := r.c.store.(store.Watcher)
	if !ok || r.state.phase != waiting {
		return
	}
	want := append([]string{""}, heartbeats[:min(len(heartbeats), maxWatched)]...)
	r.unwatch(want)
	for _, key := range want {
		if r.watched[key] != nil {
			continue
		}
		doc := r.place
		if key != "" {
			doc = key
		}
		ctx, cancel := context.WithCancel(r.c.ctx)
		r.watched[key] = cancel
		r.watches.Go(func() { r.forward(ctx, w, path.Dir(doc)+"/", key) })
	}
}

// maxWatched is how many heartbeats one claim watches; it polls the others.
const maxWatched = 4

// forward opens a watch, which may take long, and passes its hints on.
func (r *claiming) forward(ctx context.Context, w store.Watcher, prefix, key string) {
	hints, err := w.Watch(ctx, prefix)
	if err != nil {
		r.c.o.Logger.Debug("watch a lock: looking now and then instead", "prefix", prefix, "err", err)
		return
	}
	for range hints {
		select {
		case r.hints <- key:
		case <-ctx.Done():
		}
	}
}

// unwatch ends the watches that nobody wants.
func (r *claiming) unwatch(want []string) {
	for key, cancel := range r.watched {
		if !slices.Contains(want, key) {
			cancel()
			delete(r.watched, key)
		}
	}
}

// over reports whether nothing of the claim is left.
func (r *claiming) over() bool {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
		return r.ended
	default:
		return false // somebody drives it
	}
}

// Held is a lock, or a place of a semaphore, that this process holds until it releases or loses it. Its methods may be
// called from any goroutine.
type Held struct {
	r      *claiming
	what   string
	token  cluster.Token
	ctx    protocol.Leased
	cancel context.CancelCauseFunc
}

// hold makes what Acquire returns.
func (r *claiming) hold(what string) *Held {
	e, _ := r.state.table.holder(r.state.me.ID)
	h := &Held{r: r, what: what, token: e.Token}
	inner, cancel := context.WithCancelCause(r.p.ctx)
	h.cancel = cancel
	h.ctx = r.p.leased(inner, cancel)
	r.held.Store(h)
	if r.c.life.Err() != nil { // Close looks for what is held after it has ended this
		cancel(ErrClosed)
	}
	return h
}

// Token is larger than that of every former holder. Give it to the resource that the lock protects, and let the
// resource refuse any token smaller than the largest it has seen: nothing else stops a process that was suspended
// between its check of the lock and its action.
func (h *Held) Token() cluster.Token { return h.token }

// Context ends when the lock is released ([ErrReleased]), lost ([ErrLost]) or the client closed ([ErrClosed]);
// context.Cause returns which. It does not end with the context of Acquire. Its Err and Done check the clock: after a
// suspension of the process they report at once that the lock is lost, before anything else in the process has noticed.
// A context derived from it ends a moment later.
func (h *Held) Context() context.Context { return h.ctx }

// Err is nil while the lock is held by the clock, else the reason; see Context. Call it right before each action.
func (h *Held) Err() error {
	if h.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", h.what, context.Cause(h.ctx))
}

// Release ends the context, and when it returns nil the next waiter holds the lock. Stop the work under the lock
// before. Releasing again, or releasing a lost lock, does no harm. If ctx ends, or the store does not answer, before
// the release is certain, Release returns an error and continues in the background until the client is closed.
func (h *Held) Release(ctx context.Context) error {
	h.cancel(ErrReleased)
	err := h.r.stop(ctx)
	if err == nil {
		return nil
	}
	if !h.r.over() {
		h.r.stopLater()
	}
	return fmt.Errorf("release %s: not confirmed, going on in the background: %w", h.what, err)
}

// leased is a context that ends when the lock is lost.
func (p *keeper) leased(ctx context.Context, cancel context.CancelCauseFunc) protocol.Leased {
	return protocol.Leased{Context: ctx, Look: func() {
		if !p.valid() {
			cancel(context.Cause(p.ctx))
		}
	}}
}

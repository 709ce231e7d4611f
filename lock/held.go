package lock

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// Held is a lock, or a place of a semaphore, that this process holds until it releases it or loses it. Its methods may be called from any goroutine.
type Held struct {
	r      *claiming
	what   string
	token  cluster.Token
	ctx    *trusting
	cancel context.CancelCauseFunc
}

// hold makes what Acquire returns.
func (r *claiming) hold(what string) *Held {
	e, _ := r.state.table.holder(r.state.me.ID)
	h := &Held{r: r, what: what, token: e.Token}
	inner, cancel := context.WithCancelCause(r.p.ctx)
	h.cancel = cancel
	h.ctx = &trusting{Context: inner, p: r.p, cancel: cancel}
	r.held.Store(h)
	if r.c.life.Err() != nil { // Close looks for what is held after it has ended this
		cancel(ErrClosed)
	}
	return h
}

// Token is larger than that of everybody who held it before. Give it to the resource that the lock guards, and let that refuse whatever comes under a
// smaller token than the largest that it has seen: nothing else stops a process that was suspended between its look at the lock and its act.
func (h *Held) Token() cluster.Token { return h.token }

// Context ends when the lock is released ([ErrReleased]), lost ([ErrLost]) or the client closed ([ErrClosed]); context.Cause tells. It does not end
// with the context that was given to Acquire. Its Err and Done look at the clock: after the process was suspended they tell at once that the lock is
// lost, before anything else in the process has noticed. A context that is made from it hears of it a moment later.
func (h *Held) Context() context.Context { return h.ctx }

// Err is nil while the lock is held, else why it is not, by the clock: see Context. Ask right before each act.
func (h *Held) Err() error {
	if h.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", h.what, context.Cause(h.ctx))
}

// Release lets go: the context ends, and when Release returns nil the next one in the line holds the lock. Stop what is done under it before. Releasing
// again, and releasing what was lost, is fine. Where ctx ends, or the store does not answer, before that is certain, Release returns an error and goes
// on in the background until the client is closed.
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

// trusting is a context that looks at the clock when it is asked.
type trusting struct {
	context.Context
	p      *pulse
	cancel context.CancelCauseFunc
}

// look ends the context if the lock is lost.
func (t *trusting) look() {
	if t.Context.Err() == nil && !t.p.trusted() {
		t.cancel(context.Cause(t.p.ctx))
	}
}

// Err implements context.Context.
func (t *trusting) Err() error {
	t.look()
	return t.Context.Err()
}

// Done implements context.Context.
func (t *trusting) Done() <-chan struct{} {
	t.look()
	return t.Context.Done()
}

package lock

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Held is a lock, or a place of a semaphore, that this process holds until it releases or loses it. Its methods may be called from any goroutine.
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

// Token is larger than that of every former holder. Give it to the resource that the lock protects, and let the resource refuse any token smaller than
// the largest it has seen: nothing else stops a process that was suspended between its check of the lock and its action.
func (h *Held) Token() cluster.Token { return h.token }

// Context ends when the lock is released ([ErrReleased]), lost ([ErrLost]) or the client closed ([ErrClosed]); context.Cause returns which. It does not end
// with the context of Acquire. Its Err and Done check the clock: after a suspension of the process they report at once that the lock is
// lost, before anything else in the process has noticed. A context derived from it ends a moment later.
func (h *Held) Context() context.Context { return h.ctx }

// Err is nil while the lock is held by the clock, else the reason; see Context. Call it right before each action.
func (h *Held) Err() error {
	if h.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", h.what, context.Cause(h.ctx))
}

// Release ends the context, and when it returns nil the next waiter holds the lock. Stop the work under the lock before. Releasing
// again, or releasing a lost lock, does no harm. If ctx ends, or the store does not answer, before the release is certain, Release returns an error and
// continues in the background until the client is closed.
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

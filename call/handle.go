package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Handle is an untyped [Call]. Its methods may be called from any goroutine.
type Handle struct {
	c        *Client
	at       place
	page     *page     // nil for one that was attached
	function string    // "" for one that was attached
	made     time.Time // zero for one that was attached

	over chan struct{} // closed when result and err are set

	mu        sync.Mutex // guards what follows
	hearing   hearing
	result    json.RawMessage
	err       error
	waiters   int
	listeners []func(error)
}

// ID identifies the call in its cluster.
func (h *Handle) ID() string { return h.at.id() }

// Wait returns the result as JSON; see [Call.Wait].
func (h *Handle) Wait(ctx context.Context) (json.RawMessage, error) {
	if !h.ended() && time.Since(h.made) >= lookSoonest {
		h.lookNow(ctx)
	}
	if h.ended() {
		return h.result, h.err
	}
	defer lend(ctx)()
	h.interest(1)
	defer h.interest(-1)
	select {
	case <-h.over:
		return h.result, h.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for call %s: %w", h.ID(), context.Cause(ctx))
	}
}

func (h *Handle) ended() bool {
	select {
	case <-h.over:
		return true
	default:
		return false
	}
}

// lookNow reads the document once: the end of a call that has ended is there at once, without a list of its page. What
// goes wrong is left to the goroutine that follows.
func (h *Handle) lookNow(ctx context.Context) {
	s, err := read(ctx, h.c.docs, h.at.key())
	if err != nil {
		return
	}
	if out, ended, collect := s.conclusion(); ended && h.conclude(s, out) && collect {
		h.c.background(func(ctx context.Context) { h.collect(ctx, s) })
	}
}

// interest counts those who wait; the client looks after the call while there are some.
func (h *Handle) interest(n int) {
	h.mu.Lock()
	h.waiters += n
	turned := !h.hearing.ended && (n > 0 && h.waiters == 1 || h.waiters == 0)
	h.mu.Unlock()
	if turned {
		h.c.regard(h)
	}
}

func (h *Handle) wanted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.hearing.ended && h.waiters > 0
}

// OnFailureOrTimeout is like [Call.OnFailureOrTimeout].
func (h *Handle) OnFailureOrTimeout(f func(error)) {
	h.mu.Lock()
	now, later := h.hearing.listen()
	if later {
		h.listeners = append(h.listeners, f)
	}
	err := h.err
	h.mu.Unlock()
	switch {
	case now:
		go f(err)
	case later:
		h.interest(1) // until it ends
	}
}

// settle tells everybody how the call ended, once.
func (h *Handle) settle(result json.RawMessage, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	next, first, tell := h.hearing.settle(err != nil && !errors.Is(err, ErrClosed))
	if !first {
		return false
	}
	h.hearing, h.result, h.err = next, result, err
	close(h.over)
	if tell {
		for _, f := range h.listeners {
			go f(err)
		}
	}
	h.listeners = nil
	return true
}

// conclude settles by what the document says. It reports whether that was news.
func (h *Handle) conclude(s stored, out Outcome) bool {
	var err error
	switch out.State {
	case Done:
	case Cancelled:
		err = fmt.Errorf("call %s: %w", h.ID(), ErrCancelled)
	default:
		err = &Error{
			Call: h.ID(), Function: cmp.Or(h.function, s.Function), Attempts: out.Attempts, Member: out.Member,
			Message: out.Error, TimedOut: out.TimedOut,
		}
	}
	return h.settle(out.Result, err)
}

// collect removes the document of a call that has ended. Where that fails, members do it later.
func (h *Handle) collect(ctx context.Context, s stored) {
	_, err := remove(ctx, h.c.docs, s.key, s.version)
	if err != nil {
		h.c.log.Debug("remove a collected call: its retention will", "call", h.ID(), "err", err)
		return
	}
	if h.page != nil {
		h.page.left(ctx)
	}
}

// Cancel is like [Call.Cancel].
func (h *Handle) Cancel(ctx context.Context) error {
	c, fx := cancelling{id: h.ID()}, effect(getCall{})
	for {
		if end, ok := fx.(wished); ok {
			if end.err != nil {
				return fmt.Errorf("cancel call %s: %w", h.ID(), end.err)
			}
			return nil
		}
		c, fx = c.step(act(ctx, h.c.docs, h.at.key(), fx))
	}
}

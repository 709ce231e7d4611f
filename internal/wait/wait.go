// Package wait has the ways in which the shells of Rota wait: for a time, for somebody who wakes them, for a hint of
// a store or else the next poll.
package wait

import (
	"context"
	"sync"
	"time"
)

// For waits for d, and reports whether ctx had not ended by then.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}

// Wake wakes one who waits: it holds at most one token. Its receiver looks at everything that may have
// changed.
type Wake chan struct{}

// NewWake returns one that holds nothing.
func NewWake() Wake { return make(Wake, 1) }

// Set puts the token there, unless it is there already. It never blocks.
func (w Wake) Set() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Clear takes the token away, if it is there.
func (w Wake) Clear() {
	select {
	case <-w:
	default:
	}
}

// Change wakes all who wait for a change. The zero value is ready.
type Change struct {
	mu sync.Mutex
	ch chan struct{}
}

// Next returns a channel that the next Fire closes. Take it before looking at what may change.
func (c *Change) Next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ch == nil {
		c.ch = make(chan struct{})
	}
	return c.ch
}

// Fire wakes all.
func (c *Change) Fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ch != nil {
		close(c.ch)
		c.ch = nil
	}
}

// Hints are those of a store about documents under a prefix. Hints may get lost, so their users poll too.
type Hints struct{ c <-chan struct{} }

// watcher is store.Watcher.
type watcher interface {
	Watch(ctx context.Context, prefix string) (<-chan struct{}, error)
}

// Watch watches until ctx ends. Where the store sends no hints, there are none.
func Watch(ctx context.Context, docs any, prefix string) *Hints {
	h := &Hints{}
	if w, ok := docs.(watcher); ok {
		if c, err := w.Watch(ctx, prefix); err == nil {
			h.c = c
		}
	}
	return h
}

// Sent reports whether the store sends hints, as far as is known.
func (h *Hints) Sent() bool { return h.c != nil }

// Or waits for a hint, the end of ctx, one of the wakes, which may be nil, or poll at most. It reports whether there
// was a hint.
func (h *Hints) Or(ctx context.Context, poll time.Duration, wake, other <-chan struct{}) (hinted bool) {
	t := time.NewTimer(poll)
	defer t.Stop()
	select {
	case _, open := <-h.c:
		if !open {
			h.c = nil
		}
		return true
	case <-t.C:
	case <-wake:
	case <-other:
	case <-ctx.Done():
	}
	return false
}

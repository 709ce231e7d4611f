package handle

import (
	"context"
	"fmt"
	"sync"

	"github.com/rota-run/rota/internal/store/gate"
	"github.com/rota-run/rota/store"
)

// Store is all that a store inside this process can do.
type Store interface {
	store.Store
	store.Docs
	store.Log
	store.Watcher
	store.LogWatcher
	store.Queue
	store.Seeder
	store.Sessions
}

var _ Store = (*Handle)(nil)

// gated is gate.Store, whose name is ours.
type gated = gate.Store

// Handle is a member's handle on a store inside this process. It can be taken from the member: for a while (Freeze,
// Thaw), or for good (Lose). Calls of the store behind it must return at once.
//
// While it is frozen every call waits, and no hint comes. A call whose ctx ends while it waits did not begin, so it is
// not done; the others go on with Thaw. To others the member exists: its sessions stay, as those of a process that
// stands still.
//
// Once it is lost every call returns store.ErrClosed, those that wait too, and watches end with a last hint, so that
// the member finds out. To others nothing has happened yet: its sessions end with Close.
type Handle struct {
	*gated
	inner Store

	mu     sync.RWMutex  // held for reading by the calls that are under way
	thawed chan struct{} // while frozen: closed by Thaw; else nil
	lost   chan struct{} // closed by Lose
	closed bool          // from then on the store behind it answers, as a closed one
}

// New makes a handle on one of a store inside this process, which is then the handle's to close.
func New(inner Store) *Handle {
	h := &Handle{inner: inner, lost: make(chan struct{})}
	h.gated = gate.New(inner, h.look, h.change)
	return h
}

// Freeze makes every call wait, and returns when no call is under way.
func (h *Handle) Freeze() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.thawed == nil {
		h.thawed = make(chan struct{})
	}
}

// Thaw lets calls go on.
func (h *Handle) Thaw() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open()
}

// Lose takes the store away for good, and returns when no call is under way.
func (h *Handle) Lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isLost() {
		close(h.lost)
	}
	h.open()
}

// open lets those go on that wait. h.mu is held.
func (h *Handle) open() {
	if h.thawed != nil {
		close(h.thawed)
		h.thawed = nil
	}
}

func (h *Handle) isLost() bool {
	select {
	case <-h.lost:
		return true
	default:
		return false
	}
}

// enter waits until a call may begin. Unless there is an error, h.mu is then held for reading.
func (h *Handle) enter(ctx context.Context) error {
	for {
		h.mu.RLock()
		thawed := h.thawed
		switch {
		case h.closed:
			return nil
		case h.isLost():
			h.mu.RUnlock()
			return store.ErrClosed
		case thawed == nil:
			return nil
		}
		h.mu.RUnlock()
		select {
		case <-thawed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// change makes a call when it may begin.
func (h *Handle) change(ctx context.Context, op, key string, do func(context.Context) error) error {
	return h.look(ctx, op, key, func() error { return do(ctx) })
}

// look is change for calls that do not take the ctx.
func (h *Handle) look(ctx context.Context, op, key string, do func() error) error {
	if err := h.enter(ctx); err != nil {
		if key != "" {
			op = fmt.Sprintf("%s %q", op, key)
		}
		return fmt.Errorf("%s: it did not begin: %w", op, err)
	}
	defer h.mu.RUnlock()
	return do()
}

// SeedLog implements store.Seeder.
func (h *Handle) SeedLog(ctx context.Context, index uint64) error {
	return h.look(ctx, "seed", "", func() error { return h.inner.SeedLog(ctx, index) })
}

// Close implements store.Store. It waits for no Thaw.
func (h *Handle) Close() error {
	h.Lose()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return h.inner.Close()
}

package handle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// Store is all that a store inside this process can do.
type Store interface {
	store.Store
	store.Docs
	store.Log
	store.Watcher
	store.LogWatcher
	store.Seeder
	store.Sessions
}

var _ Store = (*Handle)(nil)

// Handle is a member's handle on a store inside this process. It can be taken from the member: for a while (Freeze, Thaw), or for good (Lose).
// Calls of the store behind it must return at once.
//
// While it is frozen every call waits, and no hint comes. A call whose ctx ends while it waits did not begin, so it is not done; the others go on
// with Thaw. To others the member exists: its sessions stay, as those of a process that stands still.
//
// Once it is lost every call returns store.ErrClosed, those that wait too, and watches end with a last hint, so that the member finds out. To
// others nothing has happened yet: its sessions end with Close.
type Handle struct {
	inner Store

	mu     sync.RWMutex  // held for reading by the calls that are under way
	thawed chan struct{} // while frozen: closed by Thaw; else nil
	lost   chan struct{} // closed by Lose
	closed bool          // from then on the store behind it answers, as a closed one
}

// New makes a handle on one of a store inside this process, which is then the handle's to close.
func New(inner Store) *Handle { return &Handle{inner: inner, lost: make(chan struct{})} }

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

// through makes a call when it may begin.
func through[T any](ctx context.Context, h *Handle, what string, call func() (T, error)) (T, error) {
	if err := h.enter(ctx); err != nil {
		var none T
		return none, fmt.Errorf("%s: it did not begin: %w", what, err)
	}
	defer h.mu.RUnlock()
	return call()
}

// do is through for calls that answer nothing but an error.
func (h *Handle) do(ctx context.Context, what string, call func() error) error {
	_, err := through(ctx, h, what, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// Get implements store.Docs.
func (h *Handle) Get(ctx context.Context, key string) (store.Doc, error) {
	return through(ctx, h, "get", func() (store.Doc, error) { return h.inner.Get(ctx, key) })
}

// Put implements store.Docs.
func (h *Handle) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return through(ctx, h, "put", func() (store.Version, error) { return h.inner.Put(ctx, d) })
}

// Delete implements store.Docs.
func (h *Handle) Delete(ctx context.Context, key string, v store.Version) error {
	return h.do(ctx, "delete", func() error { return h.inner.Delete(ctx, key, v) })
}

// List implements store.Docs.
func (h *Handle) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	return through(ctx, h, "list", func() ([]store.Doc, error) { return h.inner.List(ctx, prefix) })
}

// Append implements store.Log.
func (h *Handle) Append(ctx context.Context, data []byte) (uint64, error) {
	return through(ctx, h, "append", func() (uint64, error) { return h.inner.Append(ctx, data) })
}

// Read implements store.Log.
func (h *Handle) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	return through(ctx, h, "read log", func() (store.Page, error) { return h.inner.Read(ctx, after, limit) })
}

// Snapshot implements store.Log.
func (h *Handle) Snapshot(ctx context.Context) (store.Record, error) {
	return through(ctx, h, "read snapshot", func() (store.Record, error) { return h.inner.Snapshot(ctx) })
}

// SaveSnapshot implements store.Log.
func (h *Handle) SaveSnapshot(ctx context.Context, s store.Record) error {
	return h.do(ctx, "save snapshot", func() error { return h.inner.SaveSnapshot(ctx, s) })
}

// Trim implements store.Log.
func (h *Handle) Trim(ctx context.Context, index uint64) error {
	return h.do(ctx, "trim log", func() error { return h.inner.Trim(ctx, index) })
}

// SeedLog implements store.Seeder.
func (h *Handle) SeedLog(ctx context.Context, index uint64) error {
	return h.do(ctx, "seed log", func() error { return h.inner.SeedLog(ctx, index) })
}

// SessionsExpire implements store.Sessions.
func (h *Handle) SessionsExpire() bool { return h.inner.SessionsExpire() }

// OpenSession implements store.Sessions.
func (h *Handle) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := through(ctx, h, "open session", func() (store.Session, error) { return h.inner.OpenSession(ctx, ttl) })
	if err != nil {
		return nil, err
	}
	return &handleSession{s, h}, nil
}

// Close implements store.Store. It waits for no Thaw.
func (h *Handle) Close() error {
	h.Lose()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return h.inner.Close()
}

// handleSession is a session of a handle.
type handleSession struct {
	store.Session
	on *Handle
}

// Put implements store.Session.
func (s *handleSession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return through(ctx, s.on, "put with session", func() (store.Version, error) { return s.Session.Put(ctx, d) })
}

// Close implements store.Session.
func (s *handleSession) Close(ctx context.Context) error {
	return s.on.do(ctx, "close session", func() error { return s.Session.Close(ctx) })
}

package idle

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
)

// whole is a store with all abilities that a member uses.
type whole interface {
	store.Full
	store.GetMany
	store.Watcher
	store.LogWatcher
	store.Sessions
}

// errPoor says that a store lacks an ability, so that its calls cannot be counted without changing what is measured.
var errPoor = errors.New("the store has no reads of many documents, no watches or no sessions")

// counted counts the calls of a handle.
type counted struct {
	whole
	calls *atomic.Uint64
}

func count(s store.Full, calls *atomic.Uint64) (store.Full, error) {
	w, ok := s.(whole)
	if !ok {
		return nil, errPoor
	}
	return &counted{w, calls}, nil
}

func (c *counted) Get(ctx context.Context, key string) (store.Doc, error) {
	c.calls.Add(1)
	return c.whole.Get(ctx, key)
}

func (c *counted) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	c.calls.Add(1)
	return c.whole.Gets(ctx, keys)
}

func (c *counted) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	c.calls.Add(1)
	return c.whole.Put(ctx, d)
}

func (c *counted) Delete(ctx context.Context, key string, v store.Version) error {
	c.calls.Add(1)
	return c.whole.Delete(ctx, key, v)
}

func (c *counted) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	c.calls.Add(1)
	return c.whole.List(ctx, prefix)
}

func (c *counted) Append(ctx context.Context, data []byte) (uint64, error) {
	c.calls.Add(1)
	return c.whole.Append(ctx, data)
}

func (c *counted) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	c.calls.Add(1)
	return c.whole.Read(ctx, after, limit)
}

func (c *counted) Snapshot(ctx context.Context) (store.Record, error) {
	c.calls.Add(1)
	return c.whole.Snapshot(ctx)
}

func (c *counted) SaveSnapshot(ctx context.Context, s store.Record) error {
	c.calls.Add(1)
	return c.whole.SaveSnapshot(ctx, s)
}

func (c *counted) Trim(ctx context.Context, index uint64) error {
	c.calls.Add(1)
	return c.whole.Trim(ctx, index)
}

func (c *counted) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	c.calls.Add(1)
	s, err := c.whole.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &session{s, c.calls}, nil
}

// session counts the writes of a session.
type session struct {
	store.Session
	calls *atomic.Uint64
}

func (s *session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	s.calls.Add(1)
	return s.Session.Put(ctx, d)
}

// Package gate makes a store of which each call asks first.
//
// # Purpose
//
// A handle that can be taken from its member, and one that fails on purpose, are the same store but for who decides
// what becomes of a call. [Store] has the calls; what decides is given to [New].
package gate

import (
	"context"
	"slices"
	"time"

	"github.com/rota-run/rota/store"
)

// Inner is the store behind a gate.
type Inner interface {
	store.Store
	store.Docs
	store.Log
	store.Watcher
	store.LogWatcher
	store.Sessions
}

// Look makes a call that changes nothing, or does not make it. key is that of a document or a prefix, or "".
type Look func(ctx context.Context, op, key string, do func() error) error

// Change makes a call that changes something: now, later with another ctx, or never.
type Change func(ctx context.Context, op, key string, do func(context.Context) error) error

// Store is a store whose calls go through a gate. What a late change answers nobody hears.
type Store struct {
	inner  Inner
	look   Look
	change Change
}

// New makes a store of a handle, which is then the store's to close.
func New(inner Inner, look Look, change Change) *Store { return &Store{inner, look, change} }

// looked is what a call that changes nothing answers.
func looked[T any](ctx context.Context, s *Store, op, key string, do func() (T, error)) (out T, err error) {
	err = s.look(ctx, op, key, func() error { out, err = do(); return err })
	return out, err
}

// changed is what a change answers, if it was made in its time.
func changed[T any](ctx context.Context, s *Store, op, key string, do func(context.Context) (T, error)) (T, error) {
	var out, none T // a late change sets out too, but only when nobody looks at it any more
	err := s.change(ctx, op, key, func(ctx context.Context) (err error) { out, err = do(ctx); return err })
	if err != nil {
		return none, err
	}
	return out, nil
}

// Get implements store.Docs.
func (s *Store) Get(ctx context.Context, key string) (store.Doc, error) {
	return looked(ctx, s, "get", key, func() (store.Doc, error) { return s.inner.Get(ctx, key) })
}

// List implements store.Docs.
func (s *Store) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	return looked(ctx, s, "list", prefix, func() ([]store.Doc, error) { return s.inner.List(ctx, prefix) })
}

func (s *Store) put(
	ctx context.Context, op string, d store.Doc, put func(context.Context, store.Doc) (store.Version, error),
) (store.Version, error) {
	d.Value = slices.Clone(d.Value)
	return changed(ctx, s, op, d.Key, func(ctx context.Context) (store.Version, error) { return put(ctx, d) })
}

// Put implements store.Docs.
func (s *Store) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return s.put(ctx, "put", d, s.inner.Put)
}

// Delete implements store.Docs.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) error {
	return s.change(ctx, "delete", key, func(ctx context.Context) error { return s.inner.Delete(ctx, key, v) })
}

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return looked(ctx, s, "watch", prefix, func() (<-chan struct{}, error) { return s.inner.Watch(ctx, prefix) })
}

// WatchLog implements store.LogWatcher.
func (s *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	return looked(ctx, s, "watchlog", "", func() (<-chan struct{}, error) { return s.inner.WatchLog(ctx) })
}

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, data []byte) (uint64, error) {
	data = slices.Clone(data)
	return changed(ctx, s, "append", "", func(ctx context.Context) (uint64, error) { return s.inner.Append(ctx, data) })
}

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	return looked(ctx, s, "read", "", func() (store.Page, error) { return s.inner.Read(ctx, after, limit) })
}

// Snapshot implements store.Log.
func (s *Store) Snapshot(ctx context.Context) (store.Record, error) {
	return looked(ctx, s, "snapshot", "", func() (store.Record, error) { return s.inner.Snapshot(ctx) })
}

// SaveSnapshot implements store.Log.
func (s *Store) SaveSnapshot(ctx context.Context, r store.Record) error {
	r.Data = slices.Clone(r.Data)
	return s.change(ctx, "save", "", func(ctx context.Context) error { return s.inner.SaveSnapshot(ctx, r) })
}

// Trim implements store.Log.
func (s *Store) Trim(ctx context.Context, index uint64) error {
	return s.change(ctx, "trim", "", func(ctx context.Context) error { return s.inner.Trim(ctx, index) })
}

// SessionsExpire implements store.Sessions.
func (s *Store) SessionsExpire() bool { return s.inner.SessionsExpire() }

// OpenSession implements store.Sessions. A session whose answer is lost is not kept, so no outcome is unknown here.
func (s *Store) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	n, err := looked(ctx, s, "session", "", func() (store.Session, error) { return s.inner.OpenSession(ctx, ttl) })
	if err != nil {
		return nil, err
	}
	return &session{n, s}, nil
}

// Close implements store.Store.
func (s *Store) Close() error { return s.inner.Close() }

type session struct {
	store.Session
	of *Store
}

// Put implements store.Session.
func (n *session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return n.of.put(ctx, "sessionput", d, n.Session.Put)
}

// Close implements store.Session.
func (n *session) Close(ctx context.Context) error {
	return n.of.change(ctx, "sessionclose", "", n.Session.Close)
}

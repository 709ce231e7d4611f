package memory

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

var (
	_ store.Store      = (*Store)(nil)
	_ store.Docs       = (*Store)(nil)
	_ store.GetMany    = (*Store)(nil)
	_ store.Log        = (*Store)(nil)
	_ store.Watcher    = (*Store)(nil)
	_ store.LogWatcher = (*Store)(nil)
	_ store.Seeder     = (*Store)(nil)
	_ store.Sessions   = (*Store)(nil)
)

// Store is one handle. It is safe for concurrent use.
type Store struct {
	server   *Server
	closed   bool                  // guarded by server.mu
	gone     chan struct{}         // closed by Close
	sessions map[*session]struct{} // guarded by server.mu
}

// enter takes the lock, unless the call must not begin; then the error says why.
func (h *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	h.server.mu.Lock()
	if h.closed {
		h.server.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

// Get implements store.Docs.
func (h *Store) Get(ctx context.Context, key string) (_ store.Doc, err error) {
	defer driver.Wrap(&err, "get %q", key)
	if err := store.CheckKey(key); err != nil {
		return store.Doc{}, err
	}
	if err := h.enter(ctx); err != nil {
		return store.Doc{}, err
	}
	defer h.server.mu.Unlock()
	d, ok := h.server.docs.Get(key)
	if !ok {
		return store.Doc{}, store.ErrNotFound
	}
	return d.public(key), nil
}

// Gets implements store.GetMany. All documents are from the same moment.
func (h *Store) Gets(ctx context.Context, keys []string) (_ []store.Doc, err error) {
	defer driver.Wrap(&err, "get %d documents", len(keys))
	if err := store.CheckKeys(keys); err != nil {
		return nil, err
	}
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.server.mu.Unlock()
	docs := make([]store.Doc, len(keys))
	for i, key := range keys {
		docs[i].Key = key
		if d, ok := h.server.docs.Get(key); ok {
			docs[i] = d.public(key)
		}
	}
	return docs, nil
}

// Put implements store.Docs. The written document is tied to no session, even if the previous one was.
func (h *Store) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer driver.Wrap(&err, "put %q", d.Key)
	if err := checkDoc(d); err != nil {
		return "", err
	}
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.server.mu.Unlock()
	return h.server.put(d, nil)
}

func checkDoc(d store.Doc) error {
	if err := store.CheckKey(d.Key); err != nil {
		return err
	}
	return driver.CheckSize(d.Value, MaxRecord)
}

// Delete implements store.Docs.
func (h *Store) Delete(ctx context.Context, key string, v store.Version) (err error) {
	defer driver.Wrap(&err, "delete %q", key)
	if err := store.CheckKey(key); err != nil {
		return err
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.server.mu.Unlock()
	d, ok := h.server.docs.Get(key)
	switch {
	case !ok:
		return store.ErrNotFound
	case d.current(true) != v:
		return store.ErrConflict
	}
	h.server.docs.Remove(key)
	h.server.hintDocs(key)
	return nil
}

// List implements store.Docs. It is never stale.
func (h *Store) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	if err := h.enter(ctx); err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	defer h.server.mu.Unlock()
	var docs []store.Doc
	ordered.Below(&h.server.docs, prefix, func(key string, d doc) bool {
		docs = append(docs, d.public(key))
		return true
	})
	return docs, nil
}

// Close implements store.Store. To others it looks like the death of a process. It never fails; a second call does nothing.
func (h *Store) Close() error {
	s := h.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	close(h.gone)
	for owned := range h.sessions {
		owned.end()
	}
	for w := range s.watches {
		if w.handle == h {
			w.end()
		}
	}
	return nil
}

package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
)

// watch is one channel that somebody listens on. All of it is guarded by server.mu.
type watch struct {
	handle *Store
	prefix string
	log    bool // of the log, not of documents
	hints  chan struct{}
	stop   func() bool // forgets the watcher's ctx
}

// hint leaves a hint unless one lies there already.
func (w *watch) hint() {
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

// end closes the channel, once.
func (w *watch) end() {
	all := w.handle.server.watches
	if _, ok := all[w]; ok {
		delete(all, w)
		w.stop()
		close(w.hints)
	}
}

func (s *Server) hintDocs(key string) {
	for w := range s.watches {
		if !w.log && strings.HasPrefix(key, w.prefix) {
			w.hint()
		}
	}
}

func (s *Server) hintLog() {
	for w := range s.watches {
		if w.log {
			w.hint()
		}
	}
}

// Watch implements store.Watcher. It loses no hint.
func (h *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return h.watch(ctx, &watch{handle: h, prefix: prefix})
}

// WatchLog implements store.LogWatcher. It loses no hint.
func (h *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	return h.watch(ctx, &watch{handle: h, log: true})
}

func (h *Store) watch(ctx context.Context, w *watch) (<-chan struct{}, error) {
	if err := h.enter(ctx); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	defer h.server.mu.Unlock()
	w.hints = make(chan struct{}, 1)
	w.hint()
	h.server.watches[w] = struct{}{}
	w.stop = context.AfterFunc(ctx, func() {
		h.server.mu.Lock()
		defer h.server.mu.Unlock()
		w.end()
	})
	return w.hints, nil
}

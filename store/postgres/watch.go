package postgres

import (
	"context"
	"strings"
	"sync"

	"github.com/rota-run/rota/store"
)

// hub gives hints to the watches of a handle.
type hub struct {
	mu      sync.Mutex
	watches map[*watch]struct{}
}

// watch is one watch: of the log, or of the documents below a prefix.
type watch struct {
	log    bool
	prefix string
	hints  chan struct{}
}

func newHub() *hub { return &hub{watches: make(map[*watch]struct{})} }

// add begins a watch, which holds a hint.
func (h *hub) add(w *watch) {
	w.hints = make(chan struct{}, 1)
	w.hints <- struct{}{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches[w] = struct{}{}
}

// remove ends a watch.
func (h *hub) remove(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches, w)
	close(w.hints)
}

// hint gives a hint to those that want it.
func (h *hub) hint(want func(*watch) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches { // order-free: each gets its own hint
		if !want(w) {
			continue
		}
		select {
		case w.hints <- struct{}{}:
		default:
		}
	}
}

// heard reads a notification: "l" for the log, "d" and a key for a document, "*" for any documents.
func (h *hub) heard(payload string) {
	h.hint(func(w *watch) bool {
		switch payload {
		case "l":
			return w.log
		case "*":
			return !w.log
		}
		key, ok := strings.CutPrefix(payload, "d")
		return ok && !w.log && strings.HasPrefix(key, w.prefix)
	})
}

// everybody gives a hint to all: nothing is known of the time in which the connection was lost.
func (h *hub) everybody() { h.hint(func(*watch) bool { return true }) }

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, s.place.Failed(err, "watch %q", prefix)
	}
	hints, err := s.watch(ctx, &watch{prefix: prefix})
	if err != nil {
		return nil, s.place.Failed(err, "watch %q", prefix)
	}
	return hints, nil
}

// WatchLog implements store.LogWatcher.
func (s *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	hints, err := s.watch(ctx, &watch{log: true})
	if err != nil {
		return nil, s.place.Failed(err, "watch log")
	}
	return hints, nil
}

// watch begins a watch once the handle listens, so that what changes after that is heard of.
func (s *Store) watch(ctx context.Context, w *watch) (<-chan struct{}, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.line.ready(ctx); err != nil {
		leave()
		return nil, err
	}
	s.hub.add(w)
	go func() {
		defer leave()
		<-ctx.Done()
		s.hub.remove(w)
	}()
	return w.hints, nil
}

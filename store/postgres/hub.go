package postgres

import (
	"context"
	"strings"
	"sync"
)

// hub gives hints to the watches of a handle.
type hub struct {
	mu      sync.Mutex
	watches map[*watch]struct{}
}

// watch is one watch: of the log, or of the rows below a prefix.
type watch struct {
	log    bool
	prefix string
	hint   func()
}

func newHub() *hub { return &hub{watches: map[*watch]struct{}{}} }

// add begins a watch.
func (h *hub) add(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches[w] = struct{}{}
}

// remove ends a watch.
func (h *hub) remove(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches, w)
}

// heard reads a notification: "l" for the log, "d" and a key for a row, "*" for any rows, "" for all: nothing is known
// of the time in which the connection was lost.
func (h *hub) heard(payload string) {
	key, row := strings.CutPrefix(payload, "d")
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches { // order-free: each gets its own hint
		ours := payload == "*" || row && strings.HasPrefix(key, w.prefix)
		if payload == "" || w.log && payload == "l" || !w.log && ours {
			w.hint()
		}
	}
}

// Watch implements driver.Documents. Heartbeats send no hint, nor do rows that are written once.
func (s *schema) Watch(ctx context.Context, prefix string, hint func()) error {
	return s.watch(ctx, &watch{prefix: prefix, hint: hint})
}

// watch watches once the handle listens, so that what changes after that is heard of. It outlives its connections.
func (s *schema) watch(ctx context.Context, w *watch) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.line.ready(ctx); err != nil {
		return err
	}
	s.hub.add(w)
	defer s.hub.remove(w)
	w.hint()
	<-ctx.Done()
	return context.Cause(ctx)
}

package logdocs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
)

// watch is one channel that somebody listens on.
type watch struct {
	prefix string
	hints  chan struct{}
}

func (w *watch) hint() {
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

// hint tells those who watch a key. s.mu is held.
func (s *Store) hint(key string) {
	for w := range s.watches { // order-free: each gets its own
		if strings.HasPrefix(key, w.prefix) {
			w.hint()
		}
	}
}

// hintAll tells all who watch. s.mu is held.
func (s *Store) hintAll() {
	for w := range s.watches { // order-free: each gets its own
		w.hint()
	}
}

// Watch implements store.Watcher. While there are watches, the handle reads the log as it grows.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	w := &watch{prefix: prefix, hints: make(chan struct{}, 1)}
	w.hint()
	if err := s.listen(w); err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.endWatch(w)
	})
	return w.hints, nil
}

// listen adds a watch, and starts to read the log for it if nobody does.
func (s *Store) listen(w *watch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	if s.tail == nil {
		ctx, stop := context.WithCancel(s.life)
		grown, err := s.log.WatchLog(ctx)
		if err != nil {
			stop()
			return err
		}
		s.tail = stop
		s.begin(func() { s.follow(ctx, grown) })
	}
	s.watches[w] = struct{}{}
	return nil
}

// retry is how long a reading for watches waits after one that failed.
const retry = 200 * time.Millisecond

// follow reads the log when it has grown. A reading that failed may have missed something, and so the next one that succeeds tells all.
func (s *Store) follow(ctx context.Context, grown <-chan struct{}) {
	for range grown {
		failed := false
		for err := s.catchUp(ctx, false); err != nil && ctx.Err() == nil; err = s.catchUp(ctx, false) {
			failed = true
			select {
			case <-ctx.Done():
			case <-time.After(retry):
			}
		}
		if failed {
			s.mu.Lock()
			s.hintAll()
			s.mu.Unlock()
		}
	}
}

// endWatch closes a watch, once. s.mu is held.
func (s *Store) endWatch(w *watch) {
	if _, ok := s.watches[w]; !ok {
		return
	}
	delete(s.watches, w)
	close(w.hints)
	if len(s.watches) == 0 && s.tail != nil {
		s.tail()
		s.tail = nil
	}
}

func (s *Store) endWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches { // order-free: each is closed
		s.endWatch(w)
	}
}

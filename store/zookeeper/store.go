package zookeeper

import (
	"context"
	"log/slog"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
)

var (
	_ store.Store      = (*Store)(nil)
	_ store.Docs       = (*Store)(nil)
	_ store.Log        = (*Store)(nil)
	_ store.Watcher    = (*Store)(nil)
	_ store.LogWatcher = (*Store)(nil)
	_ store.Seeder     = (*Store)(nil)
	_ store.Sessions   = (*Store)(nil)
)

// Store is one handle. It is safe for concurrent use.
type Store struct {
	o        Options
	log      *slog.Logger
	acl      []zk.ACL
	link     *link
	barrier  *barrier
	appender *appender
	hub      *hub

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// enter returns why a call must not begin.
func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.isClosed() {
		return store.ErrClosed
	}
	return nil
}

func (s *Store) enterWriting(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if s.o.ReadOnly {
		return store.ErrReadOnly
	}
	return nil
}

// Close implements store.Store. It ends all sessions at the servers, waiting at most about a second for their answer; without an answer a session
// ends by its timeout. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var open []*session
	for owned := range s.sessions {
		open = append(open, owned)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, owned := range open {
		wg.Go(func() { owned.end() })
	}
	wg.Go(func() {
		s.hub.close()
		s.link.close()
		s.appender.end()
	})
	wg.Wait()
	return nil
}

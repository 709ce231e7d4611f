package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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

// Store is one handle on a bucket, with its own connection. It is safe for concurrent use.
type Store struct {
	conn     *nc.Conn
	js       jetstream.JetStream
	line     *line
	names    names
	replicas int // of the streams, as they are
	readOnly bool
	timeout  time.Duration
	log      *slog.Logger
	head     head
	queue    queue

	life context.Context // ends with Close
	end  context.CancelFunc
	wg   sync.WaitGroup // goroutines of watches and sessions

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	watches  map[*watch]struct{}
}

// enter says why a call must not begin, nil if it may.
func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.life.Err() != nil {
		return store.ErrClosed
	}
	return nil
}

// enterChange is enter for a call that changes something.
func (s *Store) enterChange(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if s.readOnly {
		return store.ErrReadOnly
	}
	return nil
}

// begin runs f on a goroutine that Close waits for; false where the store is closed.
func (s *Store) begin(note func(), f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	note()
	s.wg.Go(f)
	return true
}

// Close implements store.Store. It removes the documents of the handle's sessions; if the server cannot be reached it returns an error, and they
// vanish when they expire. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	open := make([]*session, 0, len(s.sessions))
	for owned := range s.sessions {
		open = append(open, owned)
	}
	s.mu.Unlock()
	err := s.closeSessions(open)
	s.end()
	s.wg.Wait()
	s.conn.Close()
	s.line.close()
	if err != nil {
		return fmt.Errorf("close NATS store: %w", err)
	}
	return nil
}

func (s *Store) closeSessions(open []*session) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.timeout, errTimeout)
	defer cancel()
	errs := make([]error, len(open))
	var wg sync.WaitGroup
	for i, owned := range open {
		wg.Go(func() { errs[i] = owned.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

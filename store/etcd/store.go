package etcd

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

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

// The maximum sizes; above them, calls return ErrTooLarge. A server accepts requests of 1.5 MiB by default.
const (
	MaxRecord   = 1 << 20  // bytes of a document or of a record of the log
	MaxSnapshot = 64 << 20 // bytes of a snapshot, which is split into chunks
)

// closePatience is how long Close waits for the server to end the sessions.
const closePatience = 2 * time.Second

// Store is one handle on the store. It is safe for concurrent use.
type Store struct {
	client   *clientv3.Client
	lines    *lines
	keys     layout
	place    driver.Place // of errors: prefix and endpoints
	log      *slog.Logger
	timeout  time.Duration
	readOnly bool

	appender *appender
	page     atomic.Int64 // how many records the next read asks for

	ctx    context.Context // ends with the handle; its cause is store.ErrClosed
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	closed   bool
	inside   sync.WaitGroup // calls and goroutines; Add only with mu held and not closed
	sessions map[*session]struct{}
}

// enter begins a call, or returns why the handle takes none. The context that it returns also ends with the handle. After a nil error the caller must
// call leave.
func (s *Store) enter(ctx context.Context) (calling context.Context, leave func(), err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, store.ErrClosed
	}
	s.inside.Add(1)
	calling, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(store.ErrClosed) })
	return calling, func() {
		stop()
		cancel(nil)
		s.inside.Done()
	}, nil
}

// enterChange is enter for a call that would change something.
func (s *Store) enterChange(ctx context.Context) (calling context.Context, leave func(), err error) {
	if s.readOnly {
		return nil, nil, store.ErrReadOnly
	}
	return s.enter(ctx)
}

// place says where a store lies.
func place(o Options) driver.Place {
	return driver.Place("etcd " + strings.Join(o.Endpoints, ",") + "/" + o.Prefix)
}

// Close implements store.Store. The sessions of this handle end at once. Close notifies the server, but does not wait long: if the server does
// not answer, the documents vanish when the lease expires. A second call does nothing.
func (s *Store) Close() error {
	open, first := s.shut()
	if !first {
		return nil
	}
	s.closeSessions(open)
	s.cancel(store.ErrClosed)
	s.inside.Wait()
	return s.place.Failed(s.client.Close(), "close store")
}

// shut refuses all later calls and returns the sessions that were open.
func (s *Store) shut() (open []*session, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.closed
	s.closed = true
	for session := range s.sessions {
		open = append(open, session)
	}
	return open, first
}

func (s *Store) closeSessions(open []*session) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	var wg sync.WaitGroup
	for _, session := range open {
		wg.Go(func() {
			if session.end() {
				_ = session.revoke(ctx) // logged; it runs out by itself
			}
		})
	}
	wg.Wait()
}

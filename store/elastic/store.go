package elastic

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

var (
	_ store.Store   = (*Store)(nil)
	_ store.Docs    = (*Store)(nil)
	_ store.GetMany = (*Store)(nil)
)

// MaxValue is the maximum size of a document; a larger one is store.ErrTooLarge. Servers accept requests of 100 MB by default.
const MaxValue = 16 << 20

// Store is one handle on the documents. It is safe for concurrent use.
type Store struct {
	client   *http.Client
	o        Options
	place    driver.Place // of errors
	log      *slog.Logger
	life     string // random: begins the names of this handle's writes
	writes   atomic.Uint64
	current  atomic.Uint64 // counts through the servers: the one that is asked, until it fails
	settling settling

	ctx    context.Context // ends with the handle; its cause is store.ErrClosed
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // calls; Add only with mu held and not closed
}

func newStore(o Options) *Store {
	s := &Store{o: o, place: place(o), log: o.Logger, life: rand.Text()[:lifeBytes]}
	s.client = newClient(o)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// lifeBytes is the length of the random part of the name of a write: 80 bits.
const lifeBytes = 16

// newName is a name that nobody else gives to a write.
func (s *Store) newName() string { return fmt.Sprintf("%s.%d", s.life, s.writes.Add(1)) }

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
	if s.o.ReadOnly {
		return nil, nil, store.ErrReadOnly
	}
	return s.enter(ctx)
}

// place says where a store lies.
func place(o Options) driver.Place {
	return driver.Place("elastic " + strings.Join(o.Servers, ",") + "/" + o.Index)
}

// Close implements store.Store. Calls in progress end. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.cancel(store.ErrClosed)
		s.inside.Wait()
		s.client.CloseIdleConnections()
	}
	return nil
}

// pause waits; false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

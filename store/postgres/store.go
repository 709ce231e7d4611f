package postgres

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
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

// The maximum sizes; above them, calls return ErrTooLarge.
const (
	MaxRecord   = 16 << 20  // bytes of a document or of a record of the log
	MaxSnapshot = 256 << 20 // bytes of a snapshot, which is split into chunks
)

// closePatience is how long Close waits for the server to end the sessions.
const closePatience = 2 * time.Second

// Store is one handle on the store. It is safe for concurrent use.
type Store struct {
	options  Options
	place    driver.Place // of errors: hosts, database and schema
	log      *slog.Logger
	layout   layout
	workers  *pool
	hub      *hub
	line     *line
	judge    *judge
	appender *appender
	page     atomic.Int64 // how many records the next read asks for

	ctx    context.Context // ends with the handle; its cause is store.ErrClosed
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	closed   bool
	inside   sync.WaitGroup // calls and goroutines; Add only with mu held and not closed
	sessions map[int64]*session
}

// newStore makes a handle that has no connection yet.
func newStore(o Options) *Store {
	s := &Store{options: o, place: place(o), log: o.Logger, layout: newLayout(o.Schema), hub: newHub(), sessions: make(map[int64]*session)}
	s.page.Store(firstPage)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.workers = newPool(s, o.Connections-lineConnections)
	s.line, s.judge = newLine(s), newJudge(s)
	return s
}

// enter begins a call, or returns why the handle takes none. The context that it returns also ends with the handle. After a nil error the caller must
// call leave.
func (s *Store) enter(ctx context.Context) (calling context.Context, leave func(), err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if !s.begin() {
		return nil, nil, store.ErrClosed
	}
	calling, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(store.ErrClosed) })
	return calling, func() {
		stop()
		cancel(nil)
		s.inside.Done()
	}, nil
}

// begin counts a call or a goroutine in, unless the handle was closed; inside.Done counts it out.
func (s *Store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.inside.Add(1)
	return true
}

// enterChange is enter for a call that would change something.
func (s *Store) enterChange(ctx context.Context) (calling context.Context, leave func(), err error) {
	if s.options.ReadOnly {
		return nil, nil, store.ErrReadOnly
	}
	return s.enter(ctx)
}

// place says where a store is.
func place(o Options) driver.Place {
	text := "postgres "
	for i, h := range o.Hosts {
		if i > 0 {
			text += ","
		}
		text += h
	}
	return driver.Place(text + "/" + o.Database + " schema " + o.Schema)
}

// Close implements store.Store. The sessions of this handle end at once: Close asks the server to remove their documents; if it does not answer, the
// end of the connections has the same effect. A second call does nothing.
func (s *Store) Close() error {
	if !s.shut() {
		return nil
	}
	s.closeSessions()
	s.cancel(store.ErrClosed)
	s.inside.Wait()
	s.workers.close()
	return nil
}

// shut refuses all later calls; first reports whether this call did.
func (s *Store) shut() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.closed
	s.closed = true
	return first
}

func (s *Store) closeSessions() {
	var ids []int64
	for _, n := range s.openSessions() {
		if n.end() {
			ids = append(ids, n.id)
		}
	}
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if _, err := s.change(ctx, sqlEndSessions, ids); err != nil {
		s.log.Debug("end the sessions of a handle; others will", "err", err)
	}
}

// sameAddress reports whether two addresses are one, whatever form they have.
func sameAddress(a net.Addr, host string, port int32) bool {
	tcp, ok := a.(*net.TCPAddr)
	ip := net.ParseIP(host)
	return ok && ip != nil && tcp.IP.Equal(ip) && tcp.Port == int(port)
}

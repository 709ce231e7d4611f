package memory

import (
	"context"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// The maximum sizes; above them, calls return ErrTooLarge.
const (
	MaxRecord   = 16 << 20        // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// Server is the state shared by handles. The zero value is not usable; see New.
type Server struct {
	rows *drivermap.Map
	mu   sync.Mutex
	room room
}

// New returns an empty server.
func New() *Server {
	s := &Server{rows: drivermap.New(), room: newRoom()}
	// Callers share nothing: each append is done at once.
	s.rows.Most = driver.Limits{
		Value: MaxRecord + 1, Swap: MaxRecord + 1<<10, Keys: 1 << 20, Page: 1 << 20, Batch: 1,
	}
	return s
}

// Store is one handle. It is safe for concurrent use.
type Store struct {
	handle
	server *Server
	leave  sync.Once
	gone   chan struct{} // closed by Close
}

// handle is what the engine makes of the map, without EndSession.
type handle interface {
	store.Full
	store.GetMany
	store.Seeder
	store.Watcher
	store.LogWatcher
	store.Sessions
	store.Queue
}

// Open returns a new handle.
func (s *Server) Open() *Store {
	h := full.NewVigilant(rows{s.rows.OpenSeeing()}, full.Options{Place: "memory"})
	return &Store{handle: h, server: s, gone: make(chan struct{})}
}

// Close implements store.Store. To others it looks like the death of a process. It never fails; a second call does
// nothing.
func (h *Store) Close() error {
	h.leave.Do(func() { close(h.gone) })
	return h.handle.Close()
}

// rows is a driver whose vigils their owner alone ends, so that no goroutine of a session waits for others.
type rows struct{ drivermap.Seeing }

// Vigil implements driver.Vigils.
func (r rows) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	v, err := r.Seeing.Vigil(ctx, ttl)
	return vigil{v}, err
}

type vigil struct{ driver.Vigil }

// Ended implements driver.Vigil.
func (vigil) Ended() <-chan struct{} { return nil }

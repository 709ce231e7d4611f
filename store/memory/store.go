package memory

import (
	"context"
	"fmt"
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

var _ store.Group = (*Store)(nil)

// groupDelay is how long a group that nobody is in waits for more than one member.
const groupDelay = 0

// room is the shell of the group. All of it is guarded by server.mu.
type room struct {
	began time.Time
	group Group
	calls uint64
	wait  map[uint64]chan GroupAnswer
	timer *time.Timer // of the group's deadline; nil: none
}

func newRoom() room {
	return room{began: time.Now(), group: NewGroup(groupDelay), wait: make(map[uint64]chan GroupAnswer)}
}

// step feeds one request, or none. s.mu is held.
func (s *Server) step(c GroupCall) {
	r := &s.room
	now := time.Since(r.began)
	var answers []GroupAnswer
	r.group, answers = r.group.Step(now, c)
	for _, a := range answers {
		if ch := r.wait[a.Call]; ch != nil {
			ch <- a
			delete(r.wait, a.Call)
		}
	}
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if at, ok := r.group.Deadline(); ok {
		r.timer = time.AfterFunc(at-now, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.step(GroupCall{})
		})
	}
}

// ask makes a request and waits for its answer.
func (h *Store) ask(ctx context.Context, c GroupCall) (GroupAnswer, error) {
	if ctx.Err() != nil {
		return GroupAnswer{}, context.Cause(ctx)
	}
	select {
	case <-h.gone:
		return GroupAnswer{}, store.ErrClosed
	default:
	}
	h.server.mu.Lock()
	r := &h.server.room
	r.calls++
	c.Call = r.calls
	ch := make(chan GroupAnswer, 1)
	r.wait[c.Call] = ch
	h.server.step(c)
	h.server.mu.Unlock()
	select {
	case a := <-ch:
		return a, a.Err
	case <-ctx.Done():
		return h.giveUp(c.Call, ch, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx)))
	case <-h.gone:
		return h.giveUp(c.Call, ch, fmt.Errorf("%w: %w", store.ErrUnknown, store.ErrClosed))
	}
}

// giveUp stops waiting for an answer. The request is not taken back.
func (h *Store) giveUp(call uint64, ch chan GroupAnswer, why error) (GroupAnswer, error) {
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	delete(h.server.room.wait, call)
	select {
	case a := <-ch:
		return a, a.Err
	default:
		id := h.server.room.group.Waiting(call)
		return GroupAnswer{Membership: store.Membership{Seat: store.Seat{ID: id}}}, why
	}
}

// JoinGroup implements store.Group.
func (h *Store) JoinGroup(ctx context.Context, r store.JoinRequest) (store.Membership, error) {
	if r.Session <= 0 || r.Rebalance <= 0 {
		return store.Membership{}, fmt.Errorf("join group: session %v, rebalance %v: give times greater than 0",
			r.Session, r.Rebalance)
	}
	a, err := h.ask(ctx, GroupCall{Join: &r})
	if err != nil {
		return a.Membership, fmt.Errorf("join group: %w", err)
	}
	return a.Membership, nil
}

// SyncGroup implements store.Group.
func (h *Store) SyncGroup(ctx context.Context, s store.Seat, give []store.GroupMember) ([]byte, error) {
	a, err := h.ask(ctx, GroupCall{Sync: &s, Give: give})
	if err != nil {
		return nil, fmt.Errorf("sync group, generation %d: %w", s.Generation, err)
	}
	return a.Given, nil
}

// Heartbeat implements store.Group.
func (h *Store) Heartbeat(ctx context.Context, s store.Seat) error {
	if _, err := h.ask(ctx, GroupCall{Beat: &s}); err != nil {
		return fmt.Errorf("heartbeat in generation %d: %w", s.Generation, err)
	}
	return nil
}

// LeaveGroup implements store.Group.
func (h *Store) LeaveGroup(ctx context.Context, id string) error {
	if id == "" {
		return fmt.Errorf("leave group: the ID is empty: give the one that JoinGroup returned")
	}
	if _, err := h.ask(ctx, GroupCall{Leave: id}); err != nil {
		return fmt.Errorf("leave group: %w", err)
	}
	return nil
}

package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// session is a row of the table of sessions, to which its documents refer.
type session struct {
	s    *Store
	id   int64
	ttl  time.Duration
	done chan struct{}
	once sync.Once

	settled chan struct{} // closed when the first attempt to tie it to the line is over
	settle  sync.Once
	on      *lineConn // to which it was tied, or tried to; guarded by line.mu
}

// SessionsExpire implements store.Sessions: a suspended process keeps its sessions.
func (s *Store) SessionsExpire() bool { return false }

// OpenSession implements store.Sessions. If the end of a process is not noticed, its documents are removed after four times the ttl.
func (s *Store) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	n, err := s.openSession(ctx, ttl)
	if err != nil {
		return nil, s.place.Failed(err, "open session")
	}
	return n, nil
}

func (s *Store) openSession(ctx context.Context, ttl time.Duration) (*session, error) {
	if ttl <= 0 {
		return nil, fmt.Errorf("a ttl of %v: give a positive one", ttl)
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	n := &session{s: s, id: newID(), ttl: ttl, done: make(chan struct{}), settled: make(chan struct{})}
	if _, err := s.change(ctx, sqlOpenSession, n.id, ttl.Milliseconds()); err != nil {
		return nil, driver.NotDone(err) // a session that nobody knows holds nothing, and is removed when it was silent
	}
	if !s.keep(n) {
		return nil, store.ErrClosed
	}
	s.line.tie(ctx, n)
	return n, nil
}

// newID is the number of a session, by chance, so that none has it before or after: it is the number of its lock as well.
func newID() int64 {
	b := make([]byte, 8)
	rand.Read(b)                                  // never fails
	return int64(binary.BigEndian.Uint64(b) >> 1) //nolint:gosec // not negative
}

// keep notes the session, unless the handle was closed. The first one starts what looks after sessions.
func (s *Store) keep(n *session) bool {
	if !s.begin() {
		return false
	}
	defer s.inside.Done()
	s.mu.Lock()
	s.sessions[n.id] = n
	s.mu.Unlock()
	s.judge.start()
	return true
}

// openSessions are those that have not ended.
func (s *Store) openSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*session, 0, len(s.sessions))
	for _, n := range s.sessions { // order-free: whoever needs an order sorts
		all = append(all, n)
	}
	return all
}

// sessionIDs are the numbers of the sessions that have not ended.
func (s *Store) sessionIDs() []int64 {
	ids := []int64{}
	for _, n := range s.openSessions() {
		ids = append(ids, n.id)
	}
	return ids
}

// Done implements store.Session.
func (n *session) Done() <-chan struct{} { return n.done }

// end closes Done, once; it returns whether this call did.
func (n *session) end() (first bool) {
	n.once.Do(func() {
		first = true
		n.s.mu.Lock()
		delete(n.s.sessions, n.id)
		n.s.mu.Unlock()
		close(n.done)
		n.s.line.release(n)
	})
	return first
}

func (n *session) ended() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// Put implements store.Session.
func (n *session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return n.putBy(ctx, d, func(ctx context.Context) (store.Version, error) { return n.s.write(ctx, d, n.id) })
}

// Renew implements store.Renewer.
func (n *session) Renew(ctx context.Context, d store.Doc) (store.Version, error) {
	return n.putBy(ctx, d, func(ctx context.Context) (store.Version, error) {
		return n.s.writeBy(ctx, sqlRenewDoc, d, n.id, text(d.Version))
	})
}

func (n *session) putBy(ctx context.Context, d store.Doc, write func(context.Context) (store.Version, error)) (store.Version, error) {
	v, err := n.put(ctx, d, write)
	if err != nil {
		return "", n.s.place.Failed(err, "put %q with session", d.Key)
	}
	return v, nil
}

func (n *session) put(ctx context.Context, d store.Doc, write func(context.Context) (store.Version, error)) (store.Version, error) {
	if err := checkDoc(d); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if n.ended() {
		return "", store.ErrSession
	}
	ctx, leave, err := n.s.enterChange(ctx)
	if errors.Is(err, store.ErrClosed) {
		return "", store.ErrSession // it ended with its handle
	}
	if err != nil {
		return "", err
	}
	defer leave()
	v, err := write(ctx)
	if errors.Is(err, store.ErrConflict) && n.removed(ctx) {
		err = store.ErrSession
	}
	if errors.Is(err, store.ErrSession) {
		n.end()
	}
	return v, err
}

// removed reports whether others have ended the session, so that its documents are gone: that is why a version was not current.
func (n *session) removed(ctx context.Context) bool {
	rows, err := n.s.ask(ctx, sqlSessionExists, n.id)
	return err == nil && len(rows) == 0
}

// Close implements store.Session.
func (n *session) Close(ctx context.Context) error {
	if ctx.Err() != nil {
		return n.s.place.Failed(context.Cause(ctx), "close session")
	}
	if !n.end() {
		return nil
	}
	ctx, leave, err := n.s.enter(ctx)
	if errors.Is(err, store.ErrClosed) {
		return nil // Close of the handle told the server
	}
	if err != nil {
		return n.s.place.Failed(err, "close session")
	}
	defer leave()
	_, err = n.s.change(ctx, sqlEndSessions, []int64{n.id})
	return n.s.place.Failed(err, "close session")
}

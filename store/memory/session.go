package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// session ends when it or its handle is closed.
type session struct {
	handle *Store
	done   chan struct{}
}

// SessionsExpire implements store.Sessions. The sessions of a process last until it ends, however long it is silent.
func (h *Store) SessionsExpire() bool { return false }

// OpenSession implements store.Sessions. The ttl has no meaning here.
func (h *Store) OpenSession(ctx context.Context, _ time.Duration) (store.Session, error) {
	if err := h.enter(ctx); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	defer h.server.mu.Unlock()
	s := &session{handle: h, done: make(chan struct{})}
	h.sessions[s] = struct{}{}
	return s, nil
}

// end removes the documents and closes Done, once. server.mu is held.
func (s *session) end() {
	if s.ended() {
		return
	}
	delete(s.handle.sessions, s)
	s.handle.server.drop(s)
	close(s.done)
}

func (s *session) ended() bool {
	_, open := s.handle.sessions[s]
	return !open
}

// Put implements store.Session.
func (s *session) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer driver.Wrap(&err, "put %q with session", d.Key)
	if err := checkDoc(d); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	s.handle.server.mu.Lock()
	defer s.handle.server.mu.Unlock()
	if s.ended() {
		return "", store.ErrSession
	}
	return s.handle.server.put(d, s)
}

// Done implements store.Session.
func (s *session) Done() <-chan struct{} { return s.done }

// Close implements store.Session. A second call does nothing.
func (s *session) Close(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("close session: %w", context.Cause(ctx))
	}
	s.handle.server.mu.Lock()
	defer s.handle.server.mu.Unlock()
	s.end()
	return nil
}

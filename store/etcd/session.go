package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
)

// session is a lease. Each Put renews it. A goroutine renews it when there was no Put for half of the ttl: members, which write every third of the ttl,
// do not pay for twice as many requests.
type session struct {
	s     *Store
	lease *lease
	done  chan struct{}

	mu    sync.Mutex
	until time.Time // when the session ends, unless it is renewed
	ended bool
}

// SessionsExpire implements store.Sessions.
func (s *Store) SessionsExpire() bool { return true }

// OpenSession implements store.Sessions. The ttl is rounded up to whole seconds, and the server may make it longer.
func (s *Store) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	session, err := s.openSession(ctx, ttl)
	if err != nil {
		return nil, s.place.Failed(err, "open session")
	}
	return session, nil
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
	lease, asked, err := s.grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	n := &session{s: s, lease: lease, done: make(chan struct{}), until: asked.Add(lease.ttl)}
	if !s.keep(n) {
		return nil, store.ErrClosed // the lease holds nothing and runs out
	}
	return n, nil
}

// keep notes the session and starts its goroutine, unless the handle was closed.
func (s *Store) keep(n *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sessions[n] = struct{}{}
	s.inside.Add(1)
	go func() {
		defer s.inside.Done()
		n.run()
	}()
	return true
}

// Done implements store.Session. It is closed when the server says that the lease is gone, and at the latest when the ttl has passed since the
// last renewal that was acknowledged was sent.
func (n *session) Done() <-chan struct{} { return n.done }

// end closes Done, once; it returns whether this call did.
func (n *session) end() bool {
	n.mu.Lock()
	first := !n.ended
	n.ended = true
	n.mu.Unlock()
	if !first {
		return false
	}
	n.s.mu.Lock()
	delete(n.s.sessions, n)
	n.s.mu.Unlock()
	close(n.done)
	return true
}

func (n *session) deadline() (until time.Time, ended bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.until, n.ended
}

// run ends the session when its time is over, and renews it if nobody else does.
func (n *session) run() {
	third, half := n.lease.ttl/3, n.lease.ttl/2
	timer := time.NewTimer(half)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-n.done:
			n.lease.close()
			return
		case <-n.s.ctx.Done():
			n.end()
			n.lease.close()
			return
		}
		until, _ := n.deadline()
		if left := time.Until(until); left > half {
			timer.Reset(left - half)
			continue
		}
		timer.Reset(min(n.look(third), max(time.Until(until), third/100)))
	}
}

// look renews the session, or ends it if its time is over; it returns when to look again.
func (n *session) look(third time.Duration) time.Duration {
	until, _ := n.deadline()
	if time.Until(until) <= 0 {
		n.expire()
		return third
	}
	ctx, cancel := context.WithDeadline(n.s.ctx, until)
	defer cancel()
	if err := n.renew(ctx); err != nil {
		n.s.log.Debug("renew a session", "lease", n.lease.id, "err", err)
		return third / 10
	}
	return third
}

// expire ends a session that was not renewed in time. Its lease may live on where the server was away: it is revoked, so that nobody waits for its end.
func (n *session) expire() {
	if !n.end() {
		return
	}
	ctx, cancel := context.WithTimeout(n.s.ctx, n.lease.ttl)
	defer cancel()
	_ = n.revoke(ctx) // logged; it runs out by itself
}

// renew renews the lease. An error says that nothing of what the caller wants was begun; ErrSession: the session is over.
func (n *session) renew(ctx context.Context) error {
	asked, err := n.lease.renew(ctx)
	switch {
	case errors.Is(err, store.ErrSession):
		n.end()
		return err
	case err != nil:
		return err
	}
	return n.extend(asked.Add(n.lease.ttl))
}

// extend moves the end. A session whose time is over stays so, whatever the server says.
func (n *session) extend(until time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended || time.Until(n.until) <= 0 {
		return fmt.Errorf("%w: it was not renewed in time", store.ErrSession)
	}
	if until.After(n.until) {
		n.until = until
	}
	return nil
}

// Put implements store.Session. The lease is renewed first, and the document is written only after that was acknowledged.
func (n *session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := n.put(ctx, d)
	if err != nil {
		return "", n.s.place.Failed(err, "put %q with session", d.Key)
	}
	return v, nil
}

func (n *session) put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := checkDoc(d); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if until, ended := n.deadline(); ended || time.Until(until) <= 0 {
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
	if err := n.renew(ctx); err != nil {
		return "", err
	}
	v, err := n.s.write(ctx, d, n.lease.id)
	if errors.Is(err, store.ErrSession) {
		n.end()
	}
	return v, err
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
	return n.s.place.Failed(n.revoke(ctx), "close session")
}

// revoke tells the server that the session is over. Its documents vanish with that.
func (n *session) revoke(ctx context.Context) error {
	_, err := change(ctx, n.s, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return n.s.client.Revoke(ctx, n.lease.id)
	})
	if err == nil || errors.Is(err, store.ErrSession) {
		return nil
	}
	n.s.log.Debug("revoke a lease; it will expire", "lease", n.lease.id, "err", err)
	return err
}

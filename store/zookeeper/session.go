package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// session is a ZooKeeper session with a connection of its own; its documents are ephemeral nodes.
type session struct {
	s    *Store
	link *link
	ttl  time.Duration
	done chan struct{}
	once sync.Once
	gone bool // the server confirmed the end; written within once
}

// SessionsExpire implements store.Sessions: the servers end the session of a silent process.
func (s *Store) SessionsExpire() bool { return true }

// OpenSession implements store.Sessions. A server that grants a shorter timeout than ttl is refused; a longer one is logged,
// because the documents of a dead process then stay for that long.
func (s *Store) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	owned, err := s.openSession(ctx, ttl)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return owned, nil
}

func (s *Store) openSession(ctx context.Context, ttl time.Duration) (*session, error) {
	if ttl <= 0 || ttl > math.MaxInt32*time.Millisecond {
		return nil, fmt.Errorf("ttl is %v: give more than 0, and at most 24 days", ttl)
	}
	if err := s.enterWriting(ctx); err != nil {
		return nil, err
	}
	o := s.linkOptions()
	o.timeout, o.once = (ttl + time.Millisecond - 1).Truncate(time.Millisecond), true
	l, err := newLink(o)
	if err != nil {
		return nil, err
	}
	owned := &session{s: s, link: l, ttl: ttl, done: make(chan struct{})}
	if err := s.admit(owned); err != nil {
		owned.end()
		return nil, err
	}
	if err := owned.establish(ctx); err != nil {
		go owned.end() // may take a second; Close of the store waits for it
		return nil, s.lost(err)
	}
	return owned, nil
}

// admit makes Close of the store end the session too.
func (s *Store) admit(owned *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.sessions[owned] = struct{}{}
	return nil
}

func (p *session) establish(ctx context.Context) error {
	if err := p.link.await(ctx); err != nil {
		return err
	}
	p.link.mu.Lock()
	granted := p.link.granted
	p.link.mu.Unlock()
	switch {
	case granted < p.ttl:
		return fmt.Errorf("%w: the server grants sessions of at most %v, and %v was asked for: raise its maxSessionTimeout (which is 20 times its tickTime unless set), or choose a shorter ttl",
			store.ErrTTL, granted, p.ttl)
	case granted > p.ttl.Truncate(time.Millisecond)+time.Millisecond:
		p.s.log.Warn("the server grants no shorter sessions: a dead owner's documents stay longer; lower its minSessionTimeout or tickTime",
			"asked", p.ttl, "granted", granted)
	}
	if err := p.link.authenticate(ctx); err != nil {
		return err
	}
	p.watchExpiry()
	return nil
}

// watchExpiry ends the session when the server has, or might have: others must not see the documents gone while their owner still goes on. The servers
// end it when they have not heard of it for the whole timeout; an eighth is left for the owner to notice.
func (p *session) watchExpiry() {
	go func() { // ends with the link
		for {
			timer := time.NewTimer(p.left())
			select {
			case <-p.link.expired:
				p.s.log.Warn("a session has expired", "ttl", p.ttl)
				p.end()
			case <-p.link.closing:
			case <-timer.C:
				if p.left() > 0 {
					continue
				}
				p.s.log.Warn("a session is given up: the servers have not answered for too long", "ttl", p.ttl)
				p.end()
			}
			timer.Stop()
			return
		}
	}()
}

// left is for how long the session is still sure to exist without a further answer.
func (p *session) left() time.Duration {
	heard, granted := p.link.contact()
	return max(granted-granted/8-time.Since(heard), 0)
}

// end ends the session; it reports whether the server confirmed that.
func (p *session) end() bool {
	p.once.Do(func() {
		close(p.done)
		p.gone = p.link.close()
		p.s.mu.Lock()
		delete(p.s.sessions, p)
		p.s.mu.Unlock()
	})
	return p.gone
}

// Done implements store.Session. It is closed when the servers say that the session has expired, when they have not answered for seven eighths of its timeout
// (they may say so at any moment, and nothing of it is used any more), and when the session or the store is closed.
func (p *session) Done() <-chan struct{} { return p.done }

// Close implements store.Session.
func (p *session) Close(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("close session: %w", context.Cause(ctx))
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	ended := make(chan bool, 1)
	go func() { ended <- p.end() }() // takes about a second at most
	select {
	case ok := <-ended:
		if !ok {
			return fmt.Errorf("close session: the servers did not confirm it; its documents go within %v of their last sign of it: %w", p.ttl, store.ErrUnknown)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close session: %w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}

// Put implements store.Session.
func (p *session) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer driver.Wrap(&err, "put %q with session", d.Key)
	if err := checkDoc(d); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if p.ended() {
		return "", store.ErrSession
	}
	called, err := p.fresh(ctx)
	if err != nil {
		return "", p.failed(err)
	}
	v, err := p.s.write(ctx, p.link, d, zk.FlagEphemeral)
	if err != nil {
		return "", p.failed(err)
	}
	return v, p.renewed(called)
}

func (p *session) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *session) failed(err error) error {
	var sent *sentError
	if !errors.As(err, &sent) && (p.ended() || errors.Is(err, errExpired) || errors.Is(err, errLinkClosed) || errors.Is(err, zk.ErrSessionExpired)) {
		return store.ErrSession
	}
	return outcome(err, false)
}

// What a write proves about the end of the session.
//
// Each packet that a server receives renews the session there. A follower reports this to its leader, which alone decides which sessions have expired, with its answer to the
// leader's next ping, at most half a tick later. A session lasts at least two ticks (unless minSessionTimeout is set to less), so half a tick is at
// most a quarter of it. A process that was suspended for nearly the whole timeout could therefore have a write acknowledged and see the
// session expire right after it. So a write is sent on a connection whose server is known to have heard of us within half of the timeout; otherwise the connection
// is made again, which involves the leader. An acknowledgement that arrives later than three quarters of the timeout after that counts as lost.

// fresh makes sure that the leader has heard of the session not long ago.
func (p *session) fresh(ctx context.Context) (heard time.Time, err error) {
	if err := p.link.await(ctx); err != nil {
		return time.Time{}, err
	}
	heard, granted := p.link.contact()
	if since(heard) <= granted/2 {
		return heard, nil
	}
	p.link.reconnect()
	if err := p.link.await(ctx); err != nil {
		return time.Time{}, err
	}
	heard, _ = p.link.contact()
	return heard, nil
}

// renewed reports whether a write that was acknowledged just now has renewed the session.
func (p *session) renewed(heard time.Time) error {
	_, granted := p.link.contact()
	if d := since(heard); d > granted-granted/4 {
		return fmt.Errorf("written, but %v after the last sign of life, too late to prove that the session was renewed: %w", d.Round(time.Millisecond), store.ErrUnknown)
	}
	return nil
}

// contact is when the newest request that was answered was sent, and the session's timeout.
func (l *link) contact() (heard time.Time, granted time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard, l.granted
}

// since returns the larger one of two durations: by the clock that may stop while the machine sleeps, and by the one that may jump.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

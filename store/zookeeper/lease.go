package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// lease is a ZooKeeper session with a connection of its own; its rows are ephemeral nodes.
type lease struct {
	c     *conn
	link  *link
	began time.Time
}

var (
	_ driver.Leaser = (*conn)(nil)
	_ driver.Lease  = (*lease)(nil)
)

// Lease implements driver.Leaser. A server that grants a shorter timeout than ttl is refused; a longer one is logged,
// because the rows of a dead process then stay for that long.
func (c *conn) Lease(ctx context.Context, ttl time.Duration) (driver.Lease, error) {
	if ttl > math.MaxInt32*time.Millisecond {
		return nil, fmt.Errorf("ttl is %v: give at most 24 days", ttl)
	}
	if err := c.begun(ctx); err != nil {
		return nil, err
	}
	o := c.o.linkOptions()
	o.timeout, o.once = (ttl + time.Millisecond - 1).Truncate(time.Millisecond), true
	link, err := newLink(o)
	if err != nil {
		return nil, err
	}
	l := &lease{c: c, link: link}
	if !c.admit(l) {
		link.close()
		return nil, store.ErrClosed
	}
	if err := l.establish(ctx, ttl); err != nil {
		l.Close() // it holds nothing
		return nil, c.lost(err)
	}
	return l, nil
}

// admit makes Close of the handle end the lease too.
func (c *conn) admit(l *lease) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	c.leases[l] = struct{}{}
	return true
}

func (l *lease) establish(ctx context.Context, ttl time.Duration) error {
	if err := l.link.await(ctx); err != nil {
		return err
	}
	heard, granted := l.link.contact()
	l.began = heard
	switch {
	case granted < ttl:
		return fmt.Errorf("%w: the server grants sessions of at most %v, and %v was asked for: raise its maxSessionTimeout "+
			"(which is 20 times its tickTime unless set), or choose a shorter ttl",
			store.ErrTTL, granted, ttl)
	case granted > ttl.Truncate(time.Millisecond)+time.Millisecond:
		l.c.log.Warn("the server grants no shorter sessions: a dead owner's documents stay longer; "+
			"lower its minSessionTimeout or tickTime",
			"asked", ttl, "granted", granted)
	}
	return l.link.authenticate(ctx)
}

// TTL implements driver.Lease.
func (l *lease) TTL() time.Duration {
	_, granted := l.link.contact()
	return granted
}

// Began implements driver.Lease.
func (l *lease) Began() time.Time { return l.began }

// What an answer proves about the end of the session.
//
// Each packet that a server receives renews the session there. A follower reports this to its leader, which alone
// decides which sessions have expired, with its answer to the leader's next ping, at most half a tick later. A
// session lasts at least two ticks (unless minSessionTimeout is set to less), so half a tick is at most a quarter of
// it. A process that was suspended for nearly the whole timeout could therefore have a request acknowledged and see
// the session expire right after it. So an answer counts only if its request was sent within half of the timeout
// after one that counts; otherwise the connection is made again, which involves the leader. So does a write that is
// acknowledged later than three quarters of the timeout after that.

// Renew implements driver.Lease. Each answer renews the lease, and pings see to it that there are some, so it sends
// nothing as a rule.
func (l *lease) Renew(ctx context.Context) (asked time.Time, err error) {
	heard, err := l.fresh(ctx, func(granted time.Duration) time.Duration { return granted / 2 })
	return heard, l.failed(err)
}

// fresh makes sure that the leader has heard of the lease not longer ago than a part of its timeout.
func (l *lease) fresh(ctx context.Context,
	part func(granted time.Duration) time.Duration) (heard time.Time, err error) {
	if err := l.link.await(ctx); err != nil {
		return heard, err
	}
	heard, granted := l.link.contact()
	if since(heard) <= part(granted) {
		return heard, nil
	}
	l.link.reconnect()
	if err := l.link.await(ctx); err != nil {
		return heard, err
	}
	heard, _ = l.link.contact()
	return heard, nil
}

// Swap implements driver.Lease.
func (l *lease) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	v, err := l.c.swap(ctx, l.link, zk.FlagEphemeral, op)
	if err != nil {
		return "", l.failed(err)
	}
	_, err = l.fresh(ctx, func(granted time.Duration) time.Duration { return granted - granted/4 })
	if err != nil {
		return "", fmt.Errorf("%w: written, but too late to prove that the session goes on: %w", store.ErrUnknown, err)
	}
	return v, nil
}

// failed gives an error of a call its meaning: nothing was changed by a lease that has ended.
func (l *lease) failed(err error) error {
	over := errors.Is(err, errExpired) || errors.Is(err, errLinkClosed) || errors.Is(err, zk.ErrSessionExpired)
	if over && !l.c.isClosed() {
		return fmt.Errorf("%w: %w", store.ErrSession, err)
	}
	return l.c.failed(err)
}

// Key implements driver.Lease: the session's id and password.
func (l *lease) Key() string { return l.link.key() }

// End implements driver.Lease.
func (l *lease) End(ctx context.Context) error {
	ended := make(chan bool, 1)
	if !l.c.life.Begin(func() { ended <- l.end() }) { // takes about a second at most
		return store.ErrClosed
	}
	select {
	case confirmed := <-ended:
		if confirmed {
			return nil
		}
		return fmt.Errorf("not confirmed by the servers; its documents go within %v of their last sign of it: %w",
			l.TTL(), store.ErrUnknown)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}

// end ends the session and its connection; it reports whether the servers confirmed that.
func (l *lease) end() bool {
	confirmed := l.link.close()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	delete(l.c.leases, l)
	return confirmed
}

// Close implements driver.Lease. It waits for nothing: Close of the handle does.
func (l *lease) Close() { l.c.life.Begin(func() { l.end() }) }

// contact is when the newest request that was answered was sent, and the session's timeout.
func (l *link) contact() (heard time.Time, granted time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard, l.granted
}

// since returns the larger one of two durations: by the clock that may stop while the machine sleeps, and by the one
// that may jump.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

package nats

import (
	"context"
	"errors"
	"time"

	"github.com/rota-run/rota/store"
)

// The renewal times of a session whose user is silent, as parts of its ttl. A user who writes at least every ttl/3 needs no renewal.
const (
	keepAt = 2 // writes again when this part of the ttl is left: a half
	tryAt  = 8 // after a failure, tries again after this part
)

// run keeps the session's documents alive, and ends the session when they may be gone.
func (o *session) run() {
	timer := time.NewTimer(o.ttl)
	defer timer.Stop()
	for {
		select {
		case <-o.done:
			return
		case <-o.store.life.Done():
			return
		case <-o.changed:
		case <-timer.C:
		}
		timer.Reset(o.tend())
	}
}

// tend does what is due and returns when to look again.
func (o *session) tend() time.Duration {
	select {
	case o.turn <- struct{}{}:
	default:
		return o.ttl / tryAt // somebody talks to the server: a Put, which renews, or Close
	}
	defer o.give()
	now := time.Now()
	if o.lapsed(now) || len(o.docs) == 0 {
		return o.ttl
	}
	if rest := o.until.Sub(now) - o.ttl/keepAt; rest > 0 {
		return rest
	}
	ctx, cancel := context.WithDeadlineCause(o.store.life, o.until, errTimeout)
	defer cancel()
	err := o.repeat(ctx, "")
	switch {
	case err == nil:
		o.renewed(now)
		return o.ttl / keepAt
	case !errors.Is(err, store.ErrSession):
		o.store.log.Warn("renew a session", "session", o.id, "left", time.Until(o.until), "err", err)
	}
	o.lapsed(time.Now())
	return min(o.ttl/tryAt, max(0, time.Until(o.until)))
}

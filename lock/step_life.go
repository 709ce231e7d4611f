package lock

import (
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// life decides about the pulse of this process: when to renew it, and until when to trust it. It is a value; step makes the next one.
type life struct {
	ttl     time.Duration
	now     protocol.Instant
	version store.Version    // of the pulse as far as we know; "" when it is not there
	created bool             // it was there once
	doubt   bool             // what became of the last write is not known: look
	acked   protocol.Instant // an instant before the last acknowledged write was sent; 0 for none
	next    protocol.Instant // when to write or look again
	over    bool
}

// The events of a life.
type (
	lifeEvent interface{ lifeAt() protocol.Instant }
	// lifeWoken: the time that rest asked for has come.
	lifeWoken struct{ now protocol.Instant }
	// beaten answers beat. sent is an instant before the call was made.
	beaten struct {
		now, sent protocol.Instant
		outcome   outcome
		version   store.Version
	}
	// felt answers feel; version is "" when there is no pulse.
	felt struct {
		now     protocol.Instant
		version store.Version
		failed  bool // the store did not answer
	}
)

// The effects of a life: each step gives one.
type (
	lifeEffect interface{ lifeEffect() }
	// beat writes the pulse, at a version.
	beat struct{ version store.Version }
	// feel reads our own pulse.
	feel struct{}
	// rest waits.
	rest struct{ until protocol.Instant }
	// lapse ends this life: whatever was held under its pulse is lost.
	lapse struct{}
)

func (e lifeWoken) lifeAt() protocol.Instant { return e.now }
func (e beaten) lifeAt() protocol.Instant    { return e.now }
func (e felt) lifeAt() protocol.Instant      { return e.now }

func (beat) lifeEffect()  {}
func (feel) lifeEffect()  {}
func (rest) lifeEffect()  {}
func (lapse) lifeEffect() {}

// step takes in an event. The trust that has run out is noticed before anything else: a renewal that is acknowledged after that proves
// nothing, since others may have counted us out before it was stored.
func (l life) step(ev lifeEvent) (life, lifeEffect) {
	l.now = ev.lifeAt()
	if !l.over && !l.lapsed() {
		l.take(ev)
	}
	switch {
	case l.over || l.lapsed():
		l.over = true
		return l, lapse{}
	case l.now < l.next:
		return l, rest{l.next}
	case l.doubt:
		return l, feel{}
	}
	return l, beat{l.version}
}

func (l life) lapsed() bool { return l.acked != 0 && l.now >= l.trust() }

// trust is until when the process may trust its pulse, unless the life is over; 0: not yet.
func (l life) trust() protocol.Instant {
	if l.acked == 0 {
		return 0
	}
	return l.acked.Add(trustOf(l.ttl))
}

// retry is the pause after a call that came to nothing.
func (l life) retry() time.Duration { return l.ttl / 30 }

func (l *life) take(ev lifeEvent) {
	switch ev := ev.(type) {
	case beaten:
		l.beaten(ev)
	case felt:
		l.felt(ev)
	}
}

func (l *life) beaten(ev beaten) {
	switch ev.outcome {
	case done:
		l.created, l.version = true, ev.version
		l.acked = max(l.acked, ev.sent)
		l.next = ev.sent.Add(l.ttl / 3)
	case ended:
		l.over = true
	case refused: // a write whose answer was lost stands there, or somebody has removed the pulse
		l.doubt, l.next = true, l.now
	case unknown: // not renewed for us; for others it may be
		l.doubt, l.next = true, l.now.Add(l.retry())
	default:
		l.next = l.now.Add(l.retry())
	}
}

func (l *life) felt(ev felt) {
	switch {
	case ev.failed:
		l.next = l.now.Add(l.retry())
		return
	case ev.version != "":
		l.created = true
	case l.created: // it is gone, so others may have counted us out
		l.over = true
	}
	l.doubt, l.version, l.next = false, ev.version, l.now
}

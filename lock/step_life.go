package lock

import (
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// drift is how much the clocks of two machines may differ in rate, in thousandths.
const drift = 50

func timing(ttl time.Duration) heartbeat.Timing {
	return heartbeat.Timing{TTL: ttl, Rho: drift, Margin: ttl / 20}
}

// silenceOf is how long others must observe the same version of a heartbeat before its process counts as dead.
func silenceOf(ttl time.Duration) time.Duration { return timing(ttl).Silence() + timing(ttl).Margin }

// life decides about the heartbeat of this process: when to renew it, and until when its lease is valid. It is a value;
// step makes the next one.
type life struct {
	heartbeat.Lease
	ttl     time.Duration
	now     protocol.Instant
	version store.Version // of the heartbeat as far as we know; "" if it does not exist
	created bool          // it was there once
	doubt   bool          // what became of the last write is not known: look
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
	// felt answers feel; version is "" if there is no heartbeat.
	felt struct {
		now     protocol.Instant
		version store.Version
		failed  bool // the store did not answer
	}
)

// The effects of a life: each step gives one.
type (
	lifeEffect interface{ lifeEffect() }
	// beat writes the heartbeat, at a version.
	beat struct{ version store.Version }
	// feel reads our own heartbeat.
	feel struct{}
	// rest waits.
	rest struct{ until protocol.Instant }
	// lapse ends this life: whatever was held under its heartbeat is lost.
	lapse struct{}
)

func (e lifeWoken) lifeAt() protocol.Instant { return e.now }
func (e beaten) lifeAt() protocol.Instant    { return e.now }
func (e felt) lifeAt() protocol.Instant      { return e.now }

func (beat) lifeEffect()  {}
func (feel) lifeEffect()  {}
func (rest) lifeEffect()  {}
func (lapse) lifeEffect() {}

// step handles an event. It checks for an expired lease before anything else.
func (l life) step(ev lifeEvent) (life, lifeEffect) {
	l.now = ev.lifeAt()
	if !l.over && !l.lapsed() {
		l.take(ev)
	}
	switch {
	case l.over || l.lapsed():
		l.over = true
		return l, lapse{}
	case l.now < l.Next:
		return l, rest{l.Next}
	case l.doubt:
		return l, feel{}
	}
	return l, beat{l.version}
}

func (l life) lapsed() bool { return l.Lapsed(l.now, timing(l.ttl)) }

// validUntil is the end of the lease, unless the life is over; 0: there is none yet.
func (l life) validUntil() protocol.Instant { return l.Until(timing(l.ttl)) }

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
		l.Lease = l.Renewed(ev.sent, timing(l.ttl))
	case ended:
		l.over = true
	case refused: // the refused document is a write of ours whose answer was lost, or another process has removed the heartbeat
		l.doubt, l.Next = true, l.now
	case unknown: // not renewed for us; for others it may be
		l.doubt, l.Next = true, l.now.Add(l.retry())
	default:
		l.Next = l.now.Add(l.retry())
	}
}

func (l *life) felt(ev felt) {
	switch {
	case ev.failed:
		l.Next = l.now.Add(l.retry())
		return
	case ev.version != "":
		l.created = true
	case l.created: // it is gone, so others may have counted us out
		l.over = true
	}
	l.doubt, l.version, l.Next = false, ev.version, l.now
}

package heartbeat

import (
	"time"

	"github.com/rota-run/rota/protocol"
)

// Pace is how much longer than usual the TTL is that an owner states, because its renewals are slow: then the store or the machine has too much to do, and
// longer TTLs mean fewer renewals. It outlasts epochs. It is a value.
type Pace struct {
	Doubled uint8            // how often the usual TTL is doubled
	Slow    uint8            // answers in a row that were slow
	Calm    protocol.Instant // since when all answers were quick
}

const (
	// slowInRow is after how many slow answers in a row the TTL is doubled: one is chance.
	slowInRow = 3
	// slowPart is the part of a TTL that a slow answer takes: half of the time between two renewals.
	slowPart = 6
	// quickPart is the part of a TTL within which an answer is quick: it would not be slow with half of the TTL, by far.
	quickPart = 16
	// calmTTLs is for how many TTLs all answers must be quick before the TTL is halved again.
	calmTTLs = 20
	// Slowest is how many times as long as usual a TTL becomes at most.
	Slowest = 8
)

// TTL is what the next renewal is to state.
func (p Pace) TTL(t Timing) time.Duration {
	return max(t.TTL, min(t.TTL<<p.Doubled, t.Longest))
}

// fixed reports whether the TTL never changes.
func (t Timing) fixed() bool { return t.Longest <= t.TTL }

// slower doubles the TTL, if the present one was tried and may become longer.
func (p Pace) slower(tried time.Duration, now protocol.Instant, t Timing) Pace {
	if t.fixed() {
		return p
	}
	p.Slow, p.Calm = 0, now
	if present := p.TTL(t); tried >= present && present < t.Longest {
		p.Doubled++
	}
	return p
}

// Lost records that the owner has lost a lease although it lives. That counts where the last answers were slow, or a renewal has waited for one for so long;
// not where the owner was suspended, or the store refused at once.
func (p Pace) Lost(l Lease, waited time.Duration, now protocol.Instant, t Timing) Pace {
	if p.Slow == 0 && waited <= l.TTL/slowPart {
		return p
	}
	return p.slower(l.TTL, now, t)
}

// Answered records that a renewal which states a TTL was answered now, and after how long. It counts where the answer was an error, too: a call that took all
// of its time is slow.
func (p Pace) Answered(stated, took time.Duration, done bool, now protocol.Instant, t Timing) Pace {
	switch {
	case t.fixed():
		return p
	case took > stated/slowPart:
		p.Slow++
		if p.Calm = now; p.Slow >= slowInRow {
			return p.slower(stated, now, t)
		}
		return p
	case !done || took > stated/quickPart:
		p.Calm = now
	case p.Doubled > 0 && now.Sub(p.Calm) >= calmTTLs*stated:
		p.Doubled--
		p.Calm = now
	}
	p.Slow = 0
	return p
}

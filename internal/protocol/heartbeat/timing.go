package heartbeat

import (
	"cmp"
	"time"

	"github.com/rota-run/rota/protocol"
)

// Timing are the durations that keep an owner and its watchers apart.
type Timing struct {
	// TTL is the owner's.
	TTL time.Duration
	// Longest is the longest TTL that the owner may state while its renewals are slow; see [Pace]. 0: always the usual
	// one.
	Longest time.Duration
	// Rho is the bound on the error of a clock's rate, in thousandths. It must be the same for all members.
	Rho int64
	// Margin is how much earlier the owner stops than it must, for the time between checking the clock and acting.
	Margin time.Duration
}

// Of is the same with another TTL, if that is not 0.
func (t Timing) Of(ttl time.Duration) Timing {
	t.TTL = cmp.Or(ttl, t.TTL)
	return t
}

// Valid is how long a lease is valid, counted from before its renewal was sent.
func (t Timing) Valid() time.Duration { return period(t.TTL, 1000-t.Rho) - t.Margin }

// Silence is how long a heartbeat must stay unchanged, by a watcher's clock, before its owner's lease has lapsed.
func (t Timing) Silence() time.Duration { return period(t.TTL, 1000+t.Rho) }

// SilenceOf is the silence of the owner of an observed heartbeat: by its own TTL if it states one.
func (t Timing) SilenceOf(o Observation) time.Duration {
	return t.Of(o.TTL).Silence()
}

// Late is how long a heartbeat stays unchanged, by a watcher's clock, when its owner has missed a renewal.
func (t Timing) Late() time.Duration { return t.Silence() / 2 }

// Every is the time between two renewals: three fit into a TTL, so that one may fail.
func (t Timing) Every() time.Duration { return t.TTL / 3 }

// Lengthened is a TTL that the owner states, in milliseconds, where that is not the usual one; else 0.
func (t Timing) Lengthened(ttl time.Duration) int64 {
	if ttl == t.TTL {
		return 0
	}
	return ttl.Milliseconds()
}

// period scales a duration by thousandths.
func period(d time.Duration, perMille int64) time.Duration {
	return time.Duration(int64(d) / 1000 * perMille)
}

// Pace is how much longer than usual the TTL is that an owner states, because its renewals are slow: then the store or
// the machine has too much to do, and longer TTLs mean fewer renewals. It outlasts epochs. It is a value.
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
	// quickPart is the part of a TTL within which an answer is quick: it would not be slow with half of the TTL, by
	// far.
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

// Lost records that the owner has lost a lease although it lives. That counts where the last answers were slow, or a
// renewal has waited for one for so long; not where the owner was suspended, or the store refused at once.
func (p Pace) Lost(l Lease, waited time.Duration, now protocol.Instant, t Timing) Pace {
	if p.Slow == 0 && waited <= l.TTL/slowPart {
		return p
	}
	return p.slower(l.TTL, now, t)
}

// Answered records that a renewal which states a TTL was answered now, and after how long. It counts where the answer
// was an error, too: a call that took all of its time is slow.
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

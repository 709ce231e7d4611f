package heartbeat

import (
	"cmp"
	"time"
)

// Timing are the durations that keep an owner and its watchers apart.
type Timing struct {
	// TTL is the owner's.
	TTL time.Duration
	// Longest is the longest TTL that the owner may state while its renewals are slow; see [Pace]. 0: always the usual one.
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

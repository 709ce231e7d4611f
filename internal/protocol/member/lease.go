package member

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Lapse is what a member does when its lease has run out. That is judged before an event is taken: an answer that comes
// after it is late.
type Lapse uint8

// The three ways.
const (
	// Confirm: it goes on when the cluster has confirmed it under another heartbeat, of another life. Others may have
	// counted it out before a renewal was stored whose acknowledgement came late, and their report may still be on its
	// way: such a renewal proves nothing, and a silent heartbeat is never renewed.
	Confirm Lapse = iota
	// RenewLate: it resumes when a renewal is acknowledged. Others take nothing before their write over the heartbeat
	// is acknowledged, so nobody has. When a renewal is refused, it stops all, and joins again in another life.
	RenewLate
	// Resume: nothing happens. An acknowledgement proves that it was never out.
	Resume
)

// Own is a member's own heartbeat in one life, and the lease that it gives.
type Own struct {
	heartbeat.Lease
	heartbeat.Asking
	Key  string           // "" before it is written for the first time
	Over bool             // it was refused while the member leaves: others see by themselves that it is gone
	Back protocol.Instant // when it was renewed after the lease had run out
	Took protocol.Instant // when it was renewed after that was overdue
}

// Session names this life of this start. It is never used again.
func (c *Core) Session() string { return heartbeat.Epoch(string(c.Member), c.Nonce, c.Life) }

// Ours reports whether the key of a heartbeat is of this start: of a former life of it, in which nothing runs any more,
// or of the present one.
func (c *Core) Ours(key string) bool {
	return strings.HasPrefix(strings.TrimPrefix(key, protocol.HeartbeatPrefix), string(c.Member)+"/"+c.Nonce+"-")
}

// Renew renews the heartbeat when that is due: one that is not there yet, below a prefix, is not begun by a member that
// leaves.
func (c *Core) Renew(prefix string) {
	due := c.Is >= PhaseBeginning && c.Is <= PhaseLeaving && c.Is != PhaseRemoved && !c.Own.Busy && c.At >= c.Own.Next
	if !due || c.Is == PhaseLeaving && c.Own.Key == "" {
		return
	}
	if c.Own.Key == "" {
		c.Own.Key = prefix + c.Session()
	}
	t := c.Timing.Of(c.Pace.TTL(c.Timing))
	c.Own.Asking, c.Own.Lease = heartbeat.Asking{Busy: true, Asked: c.At}, c.Own.Sending(c.At, t)
	c.Emit(Renew{Key: c.Own.Key, Create: !c.Own.Held, Life: c.Life, TTL: t.TTL, Wait: c.Own.Wait(t)})
}

// Renewed takes in the answer to Renew. It reports whether a life has ended by it.
func (c *Core) Renewed(ev Renewed) bool {
	if ev.Key != c.Own.Key {
		return false // of a former life
	}
	done := ev.Outcome == outbox.Done
	c.Wrote(ev.Err, done)
	if ev.Outcome != outbox.Refused {
		c.Pace = c.Pace.Answered(ev.TTL, c.waited(), done, c.At, c.Timing)
	}
	c.Own.Asking = heartbeat.Asking{}
	if done {
		c.Extend(ev.Sent, ev.TTL)
		return false
	}
	c.Own.Next = c.At.Add(c.Poll) // not acknowledged: for us it was not renewed
	if ev.Outcome != outbox.Refused {
		return false
	}
	c.Own.Over = c.Is == PhaseLeaving // it begins no other life
	return c.Lost("its session has ended")
}

// waited is for how long the renewal under way has waited while the store answers: where it has answered nothing since,
// it is away, and has not too much to do.
func (c *Core) waited() time.Duration {
	return min(c.Own.Waited(c.At), max(0, c.Contact.Heard.Sub(c.Own.Asked)))
}

// Extend takes in the acknowledgement of a renewal, which was sent at an instant.
func (c *Core) Extend(sent protocol.Instant, ttl time.Duration) {
	if c.Lapsed() {
		c.Own.Back = c.At
	}
	if c.overdue(sent) {
		c.Own.Took = c.At
	}
	c.Own.Lease = c.Own.Lease.Renewed(sent, c.Timing.Of(ttl))
}

// Lapsed reports whether the last acknowledged renewal is too old.
func (c *Core) Lapsed() bool { return c.Own.Lapsed(c.At, c.Timing) }

// CheckLease ends the life of a member whose lease has run out. It reports whether it has. Who would go on begins again
// where a longer TTL is to be stated: a session may allow none, and renewals may take longer then.
func (c *Core) CheckLease() bool {
	ends := c.lapse == Confirm || c.lapse == RenewLate && (c.Is == PhaseLeaving || c.Pace.TTL(c.Timing) > c.Own.TTL)
	return ends && c.Lapsed() && c.Lost("its lease has lapsed")
}

// Lost ends the lease for good, for a reason that listeners are told where the member is removed by that. It is false
// where there is none to lose.
func (c *Core) Lost(reason string) bool {
	if !c.fall(reason) {
		return false
	}
	c.Pace = c.Pace.Lost(c.Own.Lease, c.waited(), c.At, c.Timing)
	c.Own = Own{}
	if c.lapse == RenewLate {
		c.Inc, c.Joined = 0, false
		return true
	}
	c.Life++
	if c.Given.ValidUntil != 0 {
		c.Given.ValidUntil = 0
		c.Emit(Assign{Assignment: c.Given})
	}
	return true
}

// fall is the phase behind the one in which the lease was lost.
func (c *Core) fall(reason string) bool {
	switch {
	case c.lapse == RenewLate && c.Is == PhaseMember:
		c.Is = PhaseRemoved
		c.Emit(Removing{Reason: reason})
	case c.lapse == RenewLate && (c.Is == PhaseBeginning || c.Is == PhaseJoining):
		c.Is = PhaseRemoved
	case c.lapse == RenewLate:
		return c.Is == PhaseLeaving // there is nothing to leave
	case c.Is == PhaseMember:
		c.Is = PhaseConfirming
	case c.Is == PhaseJoining:
		c.Is = PhaseBeginning // nobody may hear of the new heartbeat before it is there
	default:
		return c.Is == PhaseConfirming || c.Is == PhaseBeginning
	}
	return true
}

// StatedTTL is for how long others wait when the member is silent: what its last acknowledged renewal states, or what
// the next one will, if that is longer.
func (c Core) StatedTTL() time.Duration { return max(c.Own.TTL, c.Pace.TTL(c.Timing)) }

// Silence is how long the owner of a heartbeat must be silent: by its own TTL if it states one.
func (c *Core) Silence(o heartbeat.Observation) time.Duration { return c.Timing.Of(o.TTL).Silence() }

// Dead reports whether the owner of a heartbeat may be counted out.
func (c *Core) Dead(o heartbeat.Observation) bool {
	return o.Gone() || !c.blind() && o.Dead(c.Silence(o))
}

// blind reports whether the silence of others proves little to a member that goes on when it can: the store has taken
// no renewal of ours for so long that the lease ran out, so it took none of theirs, and they have had no time yet to
// try again, which they do at each poll.
func (c *Core) blind() bool {
	return c.lapse == RenewLate && (c.Lapsed() || c.Own.Back != 0 && c.At < c.Own.Back.Add(4*c.Poll))
}

// Late reports whether the owner of a heartbeat has missed a renewal although the store takes them, as far as ours
// tell. Where it took none for a while, others have four polls to try again.
func (c *Core) Late(o heartbeat.Observation) bool {
	return o.Known && !o.Gone() && o.Looked.Sub(o.Since) >= c.Timing.Of(o.TTL).Late() && !c.overdue(c.At) &&
		(c.Own.Took == 0 || c.At >= c.Own.Took.Add(4*c.Poll))
}

// overdue reports whether a renewal that is sent at an instant has been due for half as long again as it should be.
func (c *Core) overdue(at protocol.Instant) bool {
	return at > c.Own.Acked.Add(c.Timing.Of(c.Own.TTL).Every()*3/2)
}

// Heartbeat is one of a list.
type Heartbeat struct {
	Key     string
	Version store.Version
	TTL     time.Duration // as stated by its owner
}

// Listed takes in a list of heartbeats, and which members of a value it lacks. Rare: lists are, so that it counts when
// they were made.
func (c *Core) Listed(all heartbeat.Observations, list []Heartbeat, v cluster.Value, rare bool) heartbeat.Observations {
	next, there := make(heartbeat.Observations, 0, len(list)), make(map[string]bool, len(list))
	for _, h := range list {
		there[h.Key] = true
		o := all.Of(h.Key).InList(h.Version, h.TTL, c.At)
		if rare {
			o.Seen = c.At
		}
		next = append(next, o)
	}
	for m := range v.Members() {
		if !there[m.Heartbeat] && m.State != cluster.MemberHeld {
			next = append(next, all.Of(m.Heartbeat).NotInList())
		}
	}
	slices.SortFunc(next, func(a, b heartbeat.Observation) int { return strings.Compare(a.Key, b.Key) })
	return next
}

// Strays are heartbeats that belong to nobody: left by processes that died before they joined, or after they were
// removed.
func (c *Core) Strays(all heartbeat.Observations, v cluster.Value) (out []heartbeat.Observation) {
	owned := make(map[string]bool, len(all))
	for m := range v.Members() {
		owned[m.Heartbeat] = true
	}
	for _, o := range all {
		if !owned[o.Key] && o.Key != c.Own.Key && o.Version != "" && c.At.Sub(o.Since) >= 4*c.Silence(o) {
			out = append(out, o)
		}
	}
	return out
}

// Reason is why the owner of a heartbeat is counted out.
func (c *Core) Reason(o heartbeat.Observation) string {
	found := "its heartbeat was not renewed"
	if o.Gone() {
		found = "its heartbeat is gone"
	}
	return o.Reason(found, c.Silence(o))
}

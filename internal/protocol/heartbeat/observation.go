// Package heartbeat decides, on both sides of a heartbeat document, how long its owner may act: the owner by its lease,
// all others by their observations. It is pure: times are instants of the caller's own clock, and the caller makes the
// calls.
//
// # Purpose
//
// A member, or a process that holds locks, renews one document. When it has been silent for long enough, others take
// over what it has. The two sides never compare their clocks, and this package keeps them apart: [Lease] is the owner's
// side, [Observation] the watcher's side, [Timing] the durations of both.
//
// # State
//
//	owner     no lease ──→ held, renewed at T/3 ──→ lapsed (for good: the owner begins another epoch, under another key)
//	                            ↑______│
//	watcher   unknown ──→ known ──→ dead: gone, or the same version for T(1+ρ)
//
// The document states the TTL of its owner ([Text]); a watcher waits for that one, which may differ from its own. Its
// version changes with each renewal, and the rest of its content is for people.
//
// # Guarantees
//
//   - An owner's lease is valid until T(1−ρ) − margin after it sent the last acknowledged renewal, by its own clock.
//   - The TTL may change with each renewal ([Pace] lengthens it while renewals are slow). A longer one counts for the
//     owner when it is acknowledged, a shorter one as soon as it is sent.
//   - A watcher counts an owner as dead when a read found no document, or when it has observed the same version for
//     T(1+ρ) by its own clock: from after the first read that found it until before a read was sent that still found
//     it.
//   - So if no clock's rate is wrong by more than ρ, an owner that counts as dead by silence has no valid lease,
//     whatever the delays of calls.
//   - A watcher that looks when [Observation.Next] says so sees each renewal within a poll, with about one look for
//     each.
//   - A list is a hint: it may be stale. It can delay a decision and never makes one.
//
// # What is not guaranteed
//
// An owner that acts without checking its clock may act after its lease. Actions that must not happen then need a
// fencing token. An owner whose document is removed, or whose session the store ends too early, counts as dead while
// its lease is valid. A key must never be reused after its lease has lapsed, a renewal acknowledged after that has no
// effect, and watchers get to know a key after its first renewal was acknowledged: the caller must ensure that. But
// where nobody counts an owner out before a write over its heartbeat is acknowledged, as in package lease, a lapsed one
// may be renewed: that this was acknowledged proves that nobody has.
//
// # Failures
//
// A renewal with an unknown outcome does not extend the lease. A failed read proves nothing.
// If a document states no reasonable TTL, the watcher waits for its own.
//
// # Where it comes from
//
// The owner's own deadline follows Gray and Cheriton, "Leases" (1989). Waiting by one's own clock for a version that
// does not change is how Kubernetes elects leaders.
package heartbeat

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Observation is what a watcher knows about another owner's heartbeat. It is a value: its methods return another one.
type Observation struct {
	Key     string
	Version store.Version    // "" if there is no document
	TTL     time.Duration    // as stated by its owner; 0: none
	Since   protocol.Instant // when this version was first observed
	Before  protocol.Instant // Since of the version before this one, 0 if there was none: for people alone, it decides nothing
	Looked  protocol.Instant // an instant before a read that proves that it is still this version
	From    protocol.Instant // the renewal that made this version was hardly before: for when to look again, it decides nothing
	Last    protocol.Instant // when a read or a list showed it last: likewise
	Known   bool             // read at least once (lists do not count)
	Listed  bool             // in the last list: a hint
	Missing bool             // not in the last list: a hint too
	Seen    protocol.Instant // last time in a list; set by watchers that list rarely
}

// Read records a read that was sent at an instant and answered now.
func (o Observation) Read(version store.Version, ttl time.Duration, sent, now protocol.Instant) Observation {
	if o.fresh(version) {
		o.From = o.renewed(now)
		o.Before, o.Version, o.TTL, o.Since = o.Since, version, ttl, now
	}
	o.Known, o.Looked = true, max(sent, o.Since)
	o.Last = o.Looked
	o.Missing = o.Missing && version == "" // a list that left out what is there was made before it, or lags
	return o
}

// InList records a listed version, which may be stale and proves nothing: it can only delay the start of a silence.
func (o Observation) InList(version store.Version, ttl time.Duration, now protocol.Instant) Observation {
	if o.fresh(version) {
		o.From = o.renewed(now)
		o.Before, o.Version, o.TTL, o.Since, o.Looked, o.Known = o.Since, version, ttl, now, now, false
	}
	o.Listed, o.Missing, o.Last = true, false, now
	return o
}

// NotInList records a list without it, which may be stale and proves nothing.
func (o Observation) NotInList() Observation {
	o.Listed, o.Missing = false, true
	return o
}

// renewed is From of a version that was found now. A look found the former version still there, and its owner makes the
// next one a third of its TTL after it, by a clock that may be a bit faster than ours.
func (o Observation) renewed(now protocol.Instant) protocol.Instant {
	every := Timing{TTL: o.TTL}.Every()
	return min(now, max(o.Last, o.From.Add(every-every/1000)))
}

// Next is when to look again so that each renewal is seen at most a poll after it was made, though there is one look
// for each: when the owner's next renewal should be there, at each poll from then on until it is, and when the owner
// may have been silent for long enough. A look that finds nothing new tells when to expect the next ones. Where an
// owner has a longer TTL than usual, it is looked at as often as usual.
func (o Observation) Next(t Timing, poll time.Duration) protocol.Instant {
	again := o.Last.Add(poll)
	switch {
	case !o.Known && !o.Listed:
		return 0
	case o.Gone():
		return again
	}
	often := o.Last.Add(t.Every() + poll/2) // the hint of its end may be lost, however seldom it is renewed
	t = t.Of(o.TTL)
	next := max(again, min(often, max(o.From, o.Since.Add(-t.Every())).Add(t.Every()+poll/2)))
	if end := o.Since.Add(t.Silence()); o.Looked < end {
		next = min(next, end)
	}
	return next
}

// Soon is Next where no hint tells of anything, so that much time goes by until others know of a death: a renewal is
// seen within a quarter of a poll.
func (o Observation) Soon(t Timing, poll time.Duration) protocol.Instant {
	if o.Gone() || o.Last.Sub(o.From) > t.Of(o.TTL).Every()+poll {
		return o.Next(t, poll) // it is silent
	}
	return o.Next(t, poll/4)
}

// Polled is Soon with looks before, for the end of the heartbeat: about one in a poll, in even steps. So there are no
// more looks than one in each poll.
func (o Observation) Polled(t Timing, poll time.Duration) protocol.Instant {
	next := o.Soon(t, poll)
	if poll == 0 { // no time goes by, as where all that a member may do is walked
		return min(next, o.Last)
	}
	if steps := next.Sub(o.Last) / poll; steps > 1 {
		next = o.Last.Add(next.Sub(o.Last) / steps)
	}
	return next
}

// fresh: this version was not the last that was seen.
func (o Observation) fresh(version store.Version) bool {
	return !o.Known && !o.Listed || o.Version != version
}

// Gone reports whether a read found no document.
func (o Observation) Gone() bool { return o.Known && o.Version == "" }

// Dead reports whether the owner is dead or its lease has provably lapsed. It stays so where a lapsed one is not
// renewed.
func (o Observation) Dead(silence time.Duration) bool {
	return o.Gone() || o.Known && o.Looked.Sub(o.Since) >= silence
}

// Suspect reports whether lists omit it, or have shown it unchanged until an instant, so that a read must decide.
func (o Observation) Suspect(until protocol.Instant, silence time.Duration) bool {
	return o.Missing && !o.Gone() || o.Listed && until.Sub(o.Since) >= silence && !o.Dead(silence)
}

// Observations are sorted by key and never changed: a change makes a new slice.
type Observations []Observation

// Of returns the observation of a key; for an unknown key, only the key.
func (all Observations) Of(key string) Observation {
	if i, ok := all.find(key); ok {
		return all[i]
	}
	return Observation{Key: key}
}

func (all Observations) find(key string) (int, bool) {
	return slices.BinarySearchFunc(all, key, func(o Observation, k string) int { return strings.Compare(o.Key, k) })
}

// With replaces or adds an observation.
func (all Observations) With(o Observation) Observations {
	i, ok := all.find(o.Key)
	next := slices.Clone(all)
	if ok {
		next[i] = o
		return next
	}
	return slices.Insert(next, i, o)
}

// Silence is for how long a dead owner had given no sign of life when that was found, as far as this watcher can say;
// false where it never saw one. limit is after how long a silent owner counts as dead. A heartbeat that is gone soon
// after it was renewed went with its process, at once: its silence is 0.
func (o Observation) Silence(limit time.Duration) (time.Duration, bool) {
	switch {
	case !o.Gone():
		return max(0, o.Looked.Sub(o.Since)), true
	case o.Before == 0:
		return 0, false
	case o.Since.Sub(o.Before) <= limit/2:
		return 0, true
	}
	return o.Since.Sub(o.Before), true
}

// What a reason says of a silence.
const (
	silentFor  = ", silent for "
	silentEver = ", for an unknown time"
)

// Reason is why a member is counted out, for the log and the journal: what was found, and for how long the member had
// been silent. [SilenceIn] reads it back.
func (o Observation) Reason(found string, limit time.Duration) string {
	silence, known := o.Silence(limit)
	switch {
	case !known:
		return found + silentEver
	case silence < time.Millisecond:
		return found
	}
	return found + silentFor + strconv.FormatInt(silence.Milliseconds(), 10) + " ms"
}

// SilenceIn is the silence that a reason tells of: for so long nobody had run the member's tasks already when it was
// counted out. It is 0 if the reason tells of none, and false if it is unknown.
func SilenceIn(reason string) (time.Duration, bool) {
	if strings.HasSuffix(reason, silentEver) {
		return 0, false
	}
	at := strings.LastIndex(reason, silentFor)
	if at < 0 {
		return 0, true
	}
	ms, err := strconv.ParseInt(strings.TrimSuffix(reason[at+len(silentFor):], " ms"), 10, 32)
	return time.Duration(max(0, ms)) * time.Millisecond, err == nil
}

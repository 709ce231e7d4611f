package heartbeat

import (
	"cmp"
	"encoding/json"
	"strconv"
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
	Doubled  uint8            // how often the usual TTL is doubled
	Slow     uint8            // answers in a row that were slow
	Calm     protocol.Instant // since when all answers were quick
	Halved   protocol.Instant // when it was halved last; 0: never
	Relapses uint8            // how often in a row it was doubled again soon after that
}

const (
	// slowInRow is after how many slow answers in a row the TTL is doubled: one is chance.
	slowInRow = 3
	// slowPart is the part of a TTL that a slow answer takes: half of the time between two renewals.
	slowPart = 6
	// quickPart is the part of a TTL within which an answer is quick: it would not be slow with half of the TTL, by
	// far.
	quickPart = 16
	// calmTTLs is for how many TTLs all answers must be quick before the TTL is halved again: six renewals, and twice
	// as many after each relapse.
	calmTTLs = 2
	// soonTTLs is within how many TTLs it is a relapse, maxRelapses how many of them count.
	soonTTLs, maxRelapses = 40, 4
	// Slowest is how many times as long as usual a TTL becomes at most.
	Slowest = 8
)

// TTL is what the next renewal is to state.
func (p Pace) TTL(t Timing) time.Duration { return max(t.TTL, min(t.TTL<<p.Doubled, t.Longest)) }

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
		if p.Halved == 0 || now.Sub(p.Halved) >= soonTTLs*present {
			p.Relapses = 0
		} else if p.Relapses < maxRelapses {
			p.Relapses++
		}
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
	case p.Doubled > 0 && now.Sub(p.Calm) >= calmTTLs<<p.Relapses*stated:
		p.Doubled--
		p.Calm, p.Halved = now, now
	}
	p.Slow = 0
	return p
}

// Lease is how long the owner of a heartbeat may act, in one epoch: under one key. It is a value.
type Lease struct {
	Held  bool             // a renewal was acknowledged
	Acked protocol.Instant // an instant before the last acknowledged renewal was sent
	Next  protocol.Instant // when to renew it, or to try again
	TTL   time.Duration    // that the last acknowledged renewal states; 0: none yet
	// Short ends the lease earlier, because a renewal with a shorter TTL may have been stored since; 0 if there was
	// none.
	Short protocol.Instant
}

// Sending records that a renewal is about to be sent that states t.TTL. Where that is shorter than what the last
// acknowledged one states, others may wait for the shorter time from now on, whatever becomes of the answer. A longer
// one counts when it is acknowledged, and not before.
func (l Lease) Sending(now protocol.Instant, t Timing) Lease {
	if l.Held && t.TTL < l.TTL {
		short := now.Add(t.Valid())
		l.Short = min(cmp.Or(l.Short, short), short)
	}
	return l
}

// Wait is how long the call of a renewal may take that states t.TTL: while the lease is held, no longer than one
// renewal may by what was acknowledged.
func (l Lease) Wait(t Timing) time.Duration {
	if l.Held {
		return min(t.Every(), t.Of(l.TTL).Every())
	}
	return t.Every()
}

// Renewed records the acknowledgement of a renewal that states t.TTL and was sent at an instant. A lapsed lease cannot
// be renewed: see [Lease.Lapsed].
func (l Lease) Renewed(sent protocol.Instant, t Timing) Lease {
	return Lease{Held: true, Acked: max(l.Acked, sent), Next: sent.Add(t.Every()), TTL: t.TTL}
}

// Until is the instant at which the lease ends; 0 if there is none yet. Its TTL is that of the last acknowledged
// renewal.
func (l Lease) Until(t Timing) protocol.Instant {
	if !l.Held {
		return 0
	}
	until := l.Acked.Add(t.Of(l.TTL).Valid())
	return min(until, cmp.Or(l.Short, until))
}

// Lapsed reports whether the last acknowledged renewal is too old. Check it before you handle an answer: a renewal
// acknowledged after that proves nothing, because others may have counted the owner as dead before it was stored.
func (l Lease) Lapsed(now protocol.Instant, t Timing) bool { return l.Held && now >= l.Until(t) }

// Asking is the renewal that is under way, if there is one. It is a value.
type Asking struct {
	Busy  bool             // one is under way
	Asked protocol.Instant // when it was asked for
}

// Waited is how long the renewal that is under way has been waiting for its answer; 0 if there is none.
func (a Asking) Waited(now protocol.Instant) time.Duration {
	if !a.Busy {
		return 0
	}
	return now.Sub(a.Asked)
}

// Epoch names an epoch of a start of a process, as the last part of its heartbeat's key. It is never used again.
func Epoch(owner, nonce string, number uint64) string {
	return owner + "/" + nonce + "-" + strconv.FormatUint(number, 10)
}

// Text is the content of a heartbeat document.
type Text struct {
	Member string `json:"member,omitempty"` // the owner, if it is a member
	Owner  string `json:"owner,omitempty"`  // the owner, if it is a process with locks that has a name
	// State is [Live], or [Fenced] for good, under the protocol whose members fence whom they take over. Tied: it goes
	// with its process. New: the owner had no version of it when it wrote this. Such a write that comes late makes the
	// document again after others have removed it.
	State string `json:"state,omitempty"`
	Tied  bool   `json:"tied,omitempty"`
	New   bool   `json:"new,omitempty"`
	AtMS  int64  `json:"at_ms"` // by the owner's wall clock, for people: it decides nothing
	// Guardian says whether another process would end the owner's session at its death: "on", or the reason why none
	// would; "" if none was requested. For people.
	Guardian string `json:"guardian,omitempty"`
	TTLMS    int64  `json:"ttl_ms"` // how long others wait for the owner; see [Text.States]
	// UsualMS is the owner's usual TTL where it states a longer one, because its renewals are slow; see [Pace]. For
	// people.
	UsualMS int64 `json:"usual_ttl_ms,omitempty"`
}

// MaxTTL is the longest TTL that an owner may have, and so the longest that is believed: nobody waits longer for a
// heartbeat that stays unchanged.
const MaxTTL = 24 * time.Hour

// maxDocument bounds a document that is read: names of two owners, a sentence, and two numbers.
const maxDocument = 64 << 10

// The states.
const (
	Live   = "live"
	Fenced = "fenced"
)

// States fills in the TTL that an owner states, and its usual one where that is another: in whole milliseconds, rounded
// up.
func (t Text) States(usual, ttl time.Duration) Text {
	if t.TTLMS, t.UsualMS = wholeMS(ttl), 0; ttl != usual {
		t.UsualMS = wholeMS(usual)
	}
	return t
}

// wholeMS are whole milliseconds, rounded up.
func wholeMS(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// StatedTTL is how long others wait for the owner of a document, as the document states; 0 if it states no reasonable
// duration.
func StatedTTL(document []byte) time.Duration {
	t := TextOf(document)
	if t.TTLMS < 1 || t.TTLMS > MaxTTL.Milliseconds() {
		return 0
	}
	return time.Duration(t.TTLMS) * time.Millisecond
}

// TextOf is what a document says; nothing where it is none.
func TextOf(document []byte) (t Text) {
	if len(document) > maxDocument || json.Unmarshal(document, &t) != nil {
		return Text{}
	}
	return t
}

package heartbeat

import (
	"cmp"
	"strconv"
	"time"

	"github.com/rota-run/rota/protocol"
)

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
	if l.Short != 0 {
		until = min(until, l.Short)
	}
	return until
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

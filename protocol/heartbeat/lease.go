package heartbeat

import "github.com/rota-run/rota/protocol"

// Lease is how long the owner of a heartbeat may act, in one epoch: under one key. It is a value.
type Lease struct {
	Held  bool             // a renewal was acknowledged
	Acked protocol.Instant // an instant before the last acknowledged renewal was sent
	Next  protocol.Instant // when to renew it, or to try again
}

// Renewed records the acknowledgement of a renewal that was sent at an instant. A lapsed lease cannot be renewed: see [Lease.Lapsed].
func (l Lease) Renewed(sent protocol.Instant, t Timing) Lease {
	return Lease{Held: true, Acked: max(l.Acked, sent), Next: sent.Add(t.Every())}
}

// Until is the instant at which the lease ends; 0 if there is none yet.
func (l Lease) Until(t Timing) protocol.Instant {
	if !l.Held {
		return 0
	}
	return l.Acked.Add(t.Valid())
}

// Lapsed reports whether the last acknowledged renewal is too old. Check it before you handle an answer: a renewal acknowledged after that proves
// nothing, because others may have counted the owner as dead before it was stored.
func (l Lease) Lapsed(now protocol.Instant, t Timing) bool { return l.Held && now >= l.Until(t) }

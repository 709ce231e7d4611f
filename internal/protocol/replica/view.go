package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// Phase names where the member stands: reading, claim, heartbeat, join, prepared, joined, confirm, removed, leaving, gone or halted.
func (s State) Phase() string {
	if s.Is == member.PhaseMember && s.Joined {
		return "joined"
	}
	return [...]string{"reading", "claim", "heartbeat", "join", "prepared", "confirm", "removed", "leaving", "gone", "halted"}[s.Is]
}

// Value is the newest value that the member has applied.
func (s State) Value() cluster.Value { return s.log.Value }

// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
func (s State) Tenure() (cluster.Incarnation, protocol.Instant) {
	if !s.Joined {
		return 0, 0
	}
	return s.Core.Tenure()
}

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	return s.log.Status(&s.Core, s.Joined && s.Is == member.PhaseMember)
}

// Watching is the key of the heartbeat that the store is asked to tell of; "" for none.
func (s State) Watching() string { return s.watching }

// AppendKey appends what decides this member's future, for those who walk all its states: states with equal keys do the same from
// now on, as long as they have equal Params and their values are alike, and nobody's history diverges. The value itself,
// chain hashes, snapshots, requests that wait and what people are told of the store are left out.
func (s State) AppendKey(b []byte, n member.Naming) []byte {
	l := &s.log
	for _, x := range [...]any{
		s.Is, s.At, s.Life, s.Inc, s.Joined, s.Stop, s.Own, s.Pace, s.Behind(), s.Given.ValidUntil, s.Reports, s.work.Changed, s.work.Holds, s.watching,
		s.sweep, s.check, s.checkSent, s.claim, l.Began, l.Busy, l.Hint, l.Snap, l.Saving(), l.Next, l.Rest, l.Out.Next,
	} {
		b = n.Any(b, x, "Observation.Before")
	}
	for _, g := range s.Given.Grants {
		b = n.Any(n.Any(n.Any(append(b, 1), g.Partition), g.Token), g.Attempt)
	}
	for _, o := range s.heartbeats {
		if n.Known(o.Key) {
			b = n.Any(append(b, 2), o, "Observation.Before")
		}
	}
	return member.AppendBox(append(b, 0), n, s.Writer(), l.Out)
}

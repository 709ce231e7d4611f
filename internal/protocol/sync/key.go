package sync

import (
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// AppendKey appends what decides this member's future, for those who walk all its states: states with equal keys do the same from now on, as long as they
// have equal Params without a Poll and without a Longest, their values are alike, and nobody's history diverges. Of instants it has what was before what.
func (s State) AppendKey(b []byte, n member.Naming) []byte {
	g := s.group
	for _, x := range []any{
		s.Is, s.Stop, s.Inc, s.work.Changed, s.told, g.id, g.generation, g.leads, g.need, g.busy, g.begun, s.Own.Held, s.Reports, s.Contact.Problem != "", s.Contact.Refuses,
		s.Before(s.Own.Acked), s.Own.Lapsed(s.At, s.Timing()), s.At >= g.next, s.At < s.Given.ValidUntil, s.Behind(),
		s.log.Busy, s.log.Hint, s.log.Snap,
	} {
		b = n.Any(b, x)
	}
	if g.leads {
		for _, m := range g.members {
			b = n.Any(n.Any(n.Any(b, m.ID), m.Join.Member), m.Bad)
		}
	}
	for _, a := range s.Given.Grants {
		b = n.Any(n.Any(n.Any(b, a.Partition), a.Token), a.Attempt)
	}
	return member.AppendBox(b, n, s.Writer(), s.log.Out)
}

// Before reports whether an instant was before the present epoch was applied.
func (s State) Before(sent protocol.Instant) bool { return sent < s.epochAt }

// Beating is the heartbeat that the member may send now; false if another call comes first.
func (s State) Beating() (Beat, bool) {
	g := s.group
	return Beat{Seat: store.Seat{ID: g.id, Generation: g.generation}, Session: s.session()}, g.need == needBeat && !g.busy && s.Is != member.PhaseReading
}

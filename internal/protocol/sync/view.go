package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Phase names how far the member has come: reading, joining (the group), waiting (for an epoch), joined, apart (in the epoch, while the group forms another
// generation), removed, leaving, gone or halted.
func (s State) Phase() string {
	switch {
	case s.Is == member.PhaseJoining && s.group.need != needBeat:
		return "joining"
	case s.Is == member.PhaseMember && s.group.need != needBeat:
		return "apart"
	}
	return [...]string{"reading", "", "", "waiting", "joined", "", "removed", "leaving", "gone", "halted"}[s.Is]
}

// Value is the newest value that the member has applied.
func (s State) Value() cluster.Value { return s.log.Value }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	return s.log.Status(&s.Core, s.Is == member.PhaseMember)
}

// Generation is that of the group as the member knows it, and whether the member leads it.
func (s State) Generation() (generation uint64, leads bool) { return s.group.generation, s.group.leads }

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

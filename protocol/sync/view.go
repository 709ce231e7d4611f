package sync

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Phase names how far the member has come: reading, joining (the group), waiting (for an epoch), joined, apart (in the epoch, while the group forms another
// generation), removed, leaving, gone or halted.
func (s State) Phase() string {
	switch {
	case s.phase == phaseWaiting && s.group.need != needBeat:
		return "joining"
	case s.phase == phaseMember && s.group.need != needBeat:
		return "apart"
	}
	return [...]string{"reading", "waiting", "joined", "removed", "leaving", "gone", "halted"}[s.phase]
}

// Value is the newest value that the member has applied.
func (s State) Value() cluster.Value { return s.value }

// Assigned is what the member has told its supervisor last.
func (s State) Assigned() protocol.Assignment { return s.assigned }

// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
func (s State) Tenure() (cluster.Incarnation, protocol.Instant) {
	if s.phase != phaseMember {
		return 0, 0
	}
	return s.inc, s.assigned.ValidUntil
}

// TTL is for how long others wait when the member is silent: what its last acknowledged renewal states, or what the next one will, if that is longer.
func (s State) TTL() time.Duration { return max(s.group.lease.TTL, s.pace.TTL(s.p.timing())) }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	return protocol.Status{Joined: s.phase == phaseMember, StoreError: s.contact.Problem, TTLMS: s.p.timing().Lengthened(s.TTL()), Pending: len(s.out.Queue), Foreign: s.log.History.Foreign, Refused: s.out.Refused}
}

// Now is the newest instant that the member has seen.
func (s State) Now() protocol.Instant { return s.now }

// Generation is that of the group as the member knows it, and whether the member leads it.
func (s State) Generation() (generation uint64, leads bool) { return s.group.generation, s.group.leads }

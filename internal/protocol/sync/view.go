package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
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

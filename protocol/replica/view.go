package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Phase names where the member stands: reading, claim, pulse, join, prepared, joined, confirm, removed, leaving, gone or halted.
func (s State) Phase() string {
	if s.phase == phaseMember && s.joined {
		return "joined"
	}
	return [...]string{"reading", "claim", "pulse", "join", "prepared", "confirm", "removed", "leaving", "gone", "halted"}[s.phase]
}

// Value is the newest value that the member has applied.
func (s State) Value() cluster.Value { return s.value }

// Assigned is what the member has told its supervisor last.
func (s State) Assigned() protocol.Assignment { return s.assigned }

// Now is the newest instant that the member has seen.
func (s State) Now() protocol.Instant { return s.now }

// Watching is the key of the heartbeat that the store is asked to tell of; "" for none.
func (s State) Watching() string { return s.watching }

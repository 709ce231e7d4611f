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

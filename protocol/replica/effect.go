package replica

import (
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

type (
	// CheckHeartbeat reads one heartbeat. A Routine one decides nothing yet: it may wait for the next read of the log, to be made with it in one request.
	CheckHeartbeat struct {
		member.Call
		Key     string
		Routine bool
	}
	// ListHeartbeats lists all heartbeats.
	ListHeartbeats struct{ member.Call }
	// DropHeartbeat removes a heartbeat document that nobody renews any more, if it is still at Version.
	DropHeartbeat struct {
		member.Call
		Key     string
		Version store.Version
	}
)

package replica

import (
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/store"
)

type (
	// HeartbeatSeen answers CheckHeartbeat; Version is "" when there is none.
	HeartbeatSeen struct {
		member.Now
		Key     string
		Version store.Version
		TTL     time.Duration // for which its owner says that others wait; 0: it does not say
		Err     string
	}
	// HeartbeatsListed answers ListHeartbeats. A key that is missing proves nothing.
	HeartbeatsListed struct {
		member.Now
		Heartbeats []member.Heartbeat // sorted by key
		Err        string
	}
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

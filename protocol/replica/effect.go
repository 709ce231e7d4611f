package replica

import (
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

// Effect is what a member wants done. Those below, and those of package member, are all that the protocol can do to the world.
type Effect = member.Effect

// Effects that every protocol has, and those with a log; see package member.
type (
	Assign       = member.Assign
	Reply        = member.Reply
	Applying     = member.Applying
	Joining      = member.Joining
	Removing     = member.Removing
	StoreChanged = member.StoreChanged
	WakeAt       = member.WakeAt
	Left         = member.Left
	Halt         = member.Halt
	ReadLog      = member.ReadLog
	ReadSnapshot = member.ReadSnapshot
	// Refusing says that an entry was left out.
	Refusing = member.Refusing
	// CheckLog asks which history the store has.
	CheckLog     = member.CheckLog
	Append       = member.Append
	SaveSnapshot = member.SaveSnapshot
	Renew        = member.Renew
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

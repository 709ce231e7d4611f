package replica

import (
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Effect is what a member wants done. Those below, and those of package shell, are all that the protocol can do to the world.
type Effect = shell.Effect

// Effects that every protocol has, and those with a log; see package shell.
type (
	Assign       = shell.Assign
	Reply        = shell.Reply
	Applying     = shell.Applying
	Joining      = shell.Joining
	Removing     = shell.Removing
	StoreChanged = shell.StoreChanged
	WakeAt       = shell.WakeAt
	Left         = shell.Left
	Halt         = shell.Halt
	ReadLog      = shell.ReadLog
	ReadSnapshot = shell.ReadSnapshot
	// Refusing says that an entry was left out.
	Refusing = shell.Refusing
	// CheckLog asks which history the store has.
	CheckLog     = shell.CheckLog
	Append       = shell.Append
	SaveSnapshot = shell.SaveSnapshot
	Renew        = shell.Renew
)

type (
	// CheckHeartbeat reads one heartbeat. A Routine one decides nothing yet: it may wait for the next read of the log, to be made with it in one request.
	CheckHeartbeat struct {
		shell.Call
		Key     string
		Routine bool
	}
	// ListHeartbeats lists all heartbeats.
	ListHeartbeats struct{ shell.Call }
	// DropHeartbeat removes a heartbeat document that nobody renews any more, if it is still at Version.
	DropHeartbeat struct {
		shell.Call
		Key     string
		Version store.Version
	}
)

package leader

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
	Refusing     = shell.Refusing
	StoreChanged = shell.StoreChanged
	WakeAt       = shell.WakeAt
	Left         = shell.Left
	Halt         = shell.Halt
	ReadLog      = shell.ReadLog
	ReadSnapshot = shell.ReadSnapshot
	// CheckLog asks which history the store has.
	CheckLog     = shell.CheckLog
	Append       = shell.Append
	SaveSnapshot = shell.SaveSnapshot
	Renew        = shell.Renew
)

type (
	// Get reads one document.
	Get struct {
		shell.Call
		Key string
	}
	// List reads the documents below a prefix.
	List struct {
		shell.Call
		Prefix string
	}
	// Put writes a document if it is still at Version; "" creates it. With Life, the store removes it with the heartbeat of that life; 0 for none.
	Put struct {
		shell.Call
		Key     string
		Doc     any
		Version store.Version
		Life    uint64
	}
	// Delete removes a document at Version.
	Delete struct {
		shell.Call
		Key     string
		Version store.Version
	}
)

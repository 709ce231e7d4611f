package lease

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Effect is what a member wants done. Those below, and those of package shell, are all that the protocol can do to the world.
type Effect = shell.Effect

// Effects that every protocol has; see package shell.
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
)

type (
	// Fetch reads documents, in one request or several. Each is at least as new as the call.
	Fetch struct {
		shell.Call
		ID   uint64
		Keys []string
	}
	// Survey reads documents, and all partitions and jobs that a list shows. What the list shows of a partition that binds others counts where it is as
	// the last survey has read it.
	Survey struct {
		shell.Call
		Keys  []string
		known *facts   // what that survey has read; nil for none in this term
		wrote []string // partitions that were written since, sorted
	}
	// Write puts a document over the version in it, or deletes that version.
	Write struct {
		shell.Call
		ID     uint64
		Doc    store.Doc
		Delete bool
	}
	// Renew writes the member's own heartbeat over a version of it; "" creates it.
	Renew struct {
		shell.Call
		Key     string
		Version store.Version
		Beat    uint64
		Write   string
		Life    uint64        // grows with each new key: a call of a former life may still be under way
		TTL     time.Duration // to state; 0: the usual one
		Wait    time.Duration // how long the call may take; 0: a third of the usual TTL
	}
	// ReadView reads a view.
	ReadView struct {
		shell.Call
		View uint64
	}
	// Show writes a view and removes the one before the last.
	Show struct {
		shell.Call
		View  uint64
		Value cluster.Value
	}
)

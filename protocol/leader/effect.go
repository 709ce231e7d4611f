package leader

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
	Refusing     = member.Refusing
	StoreChanged = member.StoreChanged
	WakeAt       = member.WakeAt
	Left         = member.Left
	Halt         = member.Halt
	ReadLog      = member.ReadLog
	ReadSnapshot = member.ReadSnapshot
	// CheckLog asks which history the store has.
	CheckLog     = member.CheckLog
	Append       = member.Append
	SaveSnapshot = member.SaveSnapshot
	Renew        = member.Renew
)

type (
	// Get reads one document.
	Get struct {
		member.Call
		Key string
	}
	// List reads the documents below a prefix.
	List struct {
		member.Call
		Prefix string
	}
	// Put writes a document if it is still at Version; "" creates it. With Life, the store removes it with the heartbeat of that life; 0 for none.
	Put struct {
		member.Call
		Key     string
		Doc     any
		Version store.Version
		Life    uint64
	}
	// Delete removes a document at Version.
	Delete struct {
		member.Call
		Key     string
		Version store.Version
	}
)

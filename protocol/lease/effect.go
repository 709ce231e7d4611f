package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Effect is what a member wants done. The set is closed: this is all that the protocol can do to the world.
type Effect interface{ effect() }

type (
	// Fetch reads documents, one after the other or at once: none is older than the call.
	Fetch struct {
		ID   uint64
		Keys []string
	}
	// Survey reads documents, and all partitions and jobs that a list shows.
	Survey struct{ Keys []string }
	// Write puts a document over the version in it, or deletes that version.
	Write struct {
		ID     uint64
		Doc    store.Doc
		Delete bool
	}
	// Renew writes the member's own heartbeat over a version of it; "" creates it.
	Renew struct {
		Key     string
		Version store.Version
		Beat    uint64
		Write   string
		Life    uint64 // grows with each new key: a call of a former life may still be under way
	}
	// Watch makes the shell hint at changes below these prefixes, and no others.
	Watch struct{ Prefixes []string }
	// ReadView reads a view.
	ReadView struct{ View uint64 }
	// Show writes a view and removes the one before the last.
	Show struct {
		View  uint64
		Value cluster.Value
	}
	// Assign tells the supervisor what to run.
	Assign struct{ Assignment protocol.Assignment }
	// Reply answers a Proposed. A non-empty Err says that nothing was done, or with Unknown that there is no way to know what was.
	Reply struct {
		ID      uint64
		Results []cluster.Result
		Err     string
		Unknown bool
	}
	// Applying tells what own commands did, and the newest value.
	Applying struct {
		Value cluster.Value
		Deeds []protocol.Deed
	}
	// Joining tells that the member is joined.
	Joining struct{ Incarnation cluster.Incarnation }
	// Removing tells that the member found its session ended.
	Removing struct{ Reason string }
	// StoreChanged tells that the store stopped (Err) or began (no Err) to answer.
	StoreChanged struct{ Err string }
	// Complain tells of a document that cannot be used.
	Complain struct{ Err error }
	// WakeAt asks for a Woken at this instant; it replaces the one before.
	WakeAt struct{ At protocol.Instant }
	// Left is over: the member has left in order.
	Left struct{}
	// Halt is over: going on would be wrong.
	Halt struct{ Err error }
)

func (Fetch) effect()        {}
func (Survey) effect()       {}
func (Write) effect()        {}
func (Renew) effect()        {}
func (Watch) effect()        {}
func (ReadView) effect()     {}
func (Show) effect()         {}
func (Assign) effect()       {}
func (Reply) effect()        {}
func (Applying) effect()     {}
func (Joining) effect()      {}
func (Removing) effect()     {}
func (StoreChanged) effect() {}
func (Complain) effect()     {}
func (WakeAt) effect()       {}
func (Left) effect()         {}
func (Halt) effect()         {}

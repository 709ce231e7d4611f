package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/beat"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// Effect is what a member wants done. The set is closed: this is all that the protocol can do to the world.
type Effect interface{ effect() }

type (
	// ReadLog reads behind After.
	ReadLog struct{ After cluster.Index }
	// ReadSnapshot reads the newest snapshot.
	ReadSnapshot struct{}
	// Append appends an entry; Seq is its sequence number, for the answer. The shell stamps Entry.AtMS.
	Append struct{ Entry cluster.Entry }
	// SaveSnapshot stores a snapshot of Value and frees the entries up to TrimTo.
	SaveSnapshot struct {
		Value  cluster.Value
		TrimTo cluster.Index
	}
	// Renew writes the member's own heartbeat.
	Renew beat.Renewal
	// Get reads one document.
	Get struct{ Key string }
	// List reads the documents below a prefix.
	List struct{ Prefix string }
	// Put writes a document: over the one at Version, or, where that is "", a new one. With Life it goes with the heartbeat of that life; 0 for none.
	Put struct {
		Key     string
		Doc     any
		Version store.Version
		Life    uint64
	}
	// Delete removes a document at Version.
	Delete struct {
		Key     string
		Version store.Version
	}
	// Watch makes the shell hint at changes below these prefixes, and no others. Log: of the log too.
	Watch struct {
		Prefixes []string
		Log      bool
	}
	// Assign tells the supervisor what to run.
	Assign struct{ Assignment protocol.Assignment }
	// Reply answers a Proposed.
	Reply outbox.Answer
	// Applying tells what a batch of entries did, and the newest value that the member has.
	Applying struct {
		Value   cluster.Value
		Entries []protocol.Applied
	}
	// Joining tells that the member is joined.
	Joining struct{ Incarnation cluster.Incarnation }
	// Removing tells that the member found itself removed.
	Removing struct{ Reason string }
	// Refusing tells that a document cannot be what it should be, and was left out.
	Refusing struct{ Key, Reason string }
	// StoreChanged tells that the store stopped (Err) or began (no Err) to answer.
	StoreChanged struct{ Err string }
	// WakeAt asks for a Woken at this instant; it replaces the one before.
	WakeAt struct{ At protocol.Instant }
	// Left is over: the member has left in order.
	Left struct{}
	// Halt is over: going on would be wrong.
	Halt struct{ Err error }
)

func (ReadLog) effect()      {}
func (ReadSnapshot) effect() {}
func (Append) effect()       {}
func (SaveSnapshot) effect() {}
func (Renew) effect()        {}
func (Get) effect()          {}
func (List) effect()         {}
func (Put) effect()          {}
func (Delete) effect()       {}
func (Watch) effect()        {}
func (Assign) effect()       {}
func (Reply) effect()        {}
func (Applying) effect()     {}
func (Joining) effect()      {}
func (Removing) effect()     {}
func (Refusing) effect()     {}
func (StoreChanged) effect() {}
func (WakeAt) effect()       {}
func (Left) effect()         {}
func (Halt) effect()         {}

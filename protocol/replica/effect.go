package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
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
	// Renew writes the member's own pulse. With Create it must not exist yet. Life grows with each new key: a call of a former life may still be
	// under way, and may be made later than those of the present one.
	Renew struct {
		Key    string
		Create bool
		Life   uint64
	}
	// CheckPulse reads one pulse. A Routine one decides nothing yet: it may wait for the next read of the log, to be made with it in one request.
	CheckPulse struct {
		Key     string
		Routine bool
	}
	// ListPulses lists all pulses.
	ListPulses struct{}
	// DropPulse removes a pulse document that nobody renews any more, if it is still at Version.
	DropPulse struct {
		Key     string
		Version store.Version
	}
	// WatchPulse makes the shell hint at changes of this pulse, and of no other; "" for none.
	WatchPulse struct{ Key string }
	// Assign tells the supervisor what to run.
	Assign struct{ Assignment protocol.Assignment }
	// SaveSnapshot stores a snapshot of Value and frees the entries up to TrimTo.
	SaveSnapshot struct {
		Value  cluster.Value
		TrimTo cluster.Index
	}
	// Reply answers a Proposed. A non-empty Err says that nothing was done, or with Unknown that there is no way to know what was.
	Reply outbox.Answer
	// Applying tells what a batch of entries did, and the value behind it.
	Applying struct {
		Value   cluster.Value
		Entries []protocol.Applied
	}
	// Joining tells that the member is joined.
	Joining struct{ Incarnation cluster.Incarnation }
	// Removing tells that the member found itself removed.
	Removing struct{ Reason string }
	// StoreChanged tells that the store stopped (Err) or began (no Err) to answer.
	StoreChanged struct{ Err string }
	// WakeAt asks for a Woken at this instant; it replaces the one before.
	WakeAt struct{ At protocol.Instant }
	// Leave is over: the member has left in order.
	Left struct{}
	// Halt is over: going on would be wrong.
	Halt struct{ Err error }
)

func (ReadLog) effect()      {}
func (ReadSnapshot) effect() {}
func (Append) effect()       {}
func (Renew) effect()        {}
func (CheckPulse) effect()   {}
func (ListPulses) effect()   {}
func (DropPulse) effect()    {}
func (WatchPulse) effect()   {}
func (Assign) effect()       {}
func (SaveSnapshot) effect() {}
func (Reply) effect()        {}
func (Applying) effect()     {}
func (Joining) effect()      {}
func (Removing) effect()     {}
func (StoreChanged) effect() {}
func (WakeAt) effect()       {}
func (Left) effect()         {}
func (Halt) effect()         {}

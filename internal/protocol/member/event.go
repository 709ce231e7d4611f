package member

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Event is what happens to a member. At is the instant at which it reaches the member.
type Event interface{ At() protocol.Instant }

// Now is that instant, as the first field of each event.
type Now = protocol.Instant

// Events that every protocol has.
type (
	// Woken is the time that WakeAt asked for.
	Woken struct{ Now }
	// Hinted says that something below a prefix may have changed; "" is the log.
	Hinted struct {
		Now
		Prefix string
	}
	// Reported is what the supervisor reports.
	Reported struct {
		Now
		Version uint64
		Reports []protocol.Report // sorted by partition
	}
	// Proposed asks to have commands applied; Reply answers with the same ID.
	Proposed struct {
		Now
		ID       uint64
		Commands []cluster.Command
	}
	// Closed says that the store's handle was closed while the member ran: nothing can be called any more.
	Closed struct {
		Now
		Err error
	}
	// Stop asks to leave gracefully.
	Stop struct {
		Now
		Reason string
	}
)

// Point is where a log is: the chain hash after an entry.
type Point struct {
	Index cluster.Index
	Chain cluster.Hash
}

// PointOf is the point of a value.
func PointOf(v cluster.Value) Point { return Point{v.Index(), v.Chain()} }

// Events that protocols with a log have.
type (
	// Read answers ReadLog.
	Read struct {
		Now
		Page      store.Page
		Truncated bool
		Err       string // "" when it was answered
	}
	// SnapshotRead answers ReadSnapshot.
	SnapshotRead struct {
		Now
		Value cluster.Value
		Found bool
		Err   string
		Halt  error // the snapshot cannot be used by this member, ever
	}
	// LogChecked answers CheckLog. Has is before At where the log ends before it, and after At where the snapshot is.
	LogChecked struct {
		Now
		Asked cluster.Index
		Has   Point
		Err   string
	}
	// Appended answers Append.
	Appended struct {
		Now
		Seq     uint64
		Outcome outbox.Outcome
		Index   cluster.Index // when Done
		Data    []byte        // as it is stored there, when Done
		Err     string
	}
	// SnapshotSaved answers SaveSnapshot.
	SnapshotSaved struct{ Now }
	// Renewed answers Renew. Sent is an instant before the call was sent, TTL what the heartbeat states if it was
	// written.
	Renewed struct {
		Now
		Sent    protocol.Instant
		Key     string
		TTL     time.Duration
		Outcome outbox.Outcome
		Err     string
	}
)

// Effect is what a member wants done. The shell does most by itself; those with a [Call] are calls of the store.
type Effect interface{ effect() }

// Call is embedded in the effects that are calls.
type Call struct{}

func (Call) effect() {}

// act is embedded in the effects that the shell does.
type act struct{}

func (act) effect() {}

// Effects that every protocol has.
type (
	// Assign gives the supervisor what to run.
	Assign struct {
		act
		Assignment protocol.Assignment
	}
	// Applying says that the member has a newer value, and what led to it: entries of a log, or, without a log, what
	// own commands did.
	Applying struct {
		act
		Value   cluster.Value
		Entries []protocol.Applied
		Deeds   []protocol.Deed
	}
	// Joining says that the member is joined.
	Joining struct {
		act
		Incarnation cluster.Incarnation
	}
	// Removing says that the member found itself removed.
	Removing struct {
		act
		Reason string
	}
	// Refusing says that a document cannot be what it should be, and was left out.
	Refusing struct {
		act
		Key, Reason string
	}
	// StoreChanged says that the store stopped (Err) or began (no Err) to answer.
	StoreChanged struct {
		act
		Err string
	}
	// WakeAt asks for a Woken at this instant; it replaces the one before.
	WakeAt struct {
		act
		At protocol.Instant
	}
	// Left is over: the member has left gracefully.
	Left struct{ act }
	// Halt is over: going on would be wrong.
	Halt struct {
		act
		Err error
	}
)

// Reply answers a Proposed. A non-empty Err says that nothing was done, or with Unknown that there is no way to know
// what was.
type Reply outbox.Answer

func (Reply) effect() {}

// Reply answers the requests that an outbox is done with, and returns what is left of it.
func (c *Core) Reply(left outbox.Box, answers []outbox.Answer) outbox.Box {
	for _, a := range answers {
		c.Emit(Reply(a))
	}
	return left
}

// Calls of protocols with a log.
type (
	// ReadLog reads the records after After. With: another call is made at the same time that can go with it.
	ReadLog struct {
		Call
		After cluster.Index
		With  bool
	}
	// ReadSnapshot reads the newest snapshot.
	ReadSnapshot struct{ Call }
	// CheckLog asks which chain hash somebody would have at At who reads the log now, from its snapshot on.
	CheckLog struct {
		Call
		At cluster.Index
	}
	// Append appends an entry; Seq is its sequence number, for the answer. Entry.AtMS is stamped when it is sent.
	Append struct {
		Call
		Entry cluster.Entry
	}
	// SaveSnapshot stores a snapshot of Value and frees the entries up to TrimTo.
	SaveSnapshot struct {
		Call
		Value  cluster.Value
		TrimTo cluster.Index
	}
	// Renew writes the member's own heartbeat. With Create it must not exist yet. Life is the epoch: it grows with each
	// new key. A call of a former epoch may still be in flight, and may be made later than those of the present one.
	Renew struct {
		Call
		Key    string
		Create bool
		Life   uint64
		TTL    time.Duration // to state; 0: the usual one
		Wait   time.Duration // how long the call may take; 0: a third of the usual TTL
	}
)

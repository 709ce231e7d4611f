package member

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
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
	// Applying says that the member has a newer value, and what led to it: entries of a log, or, without a log, what own commands did.
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

// Reply answers a Proposed. A non-empty Err says that nothing was done, or with Unknown that there is no way to know what was.
type Reply outbox.Answer

func (Reply) effect() {}

// Reply answers requests.
func (c *Core) Reply(answers []outbox.Answer) {
	for _, a := range answers {
		c.Emit(Reply(a))
	}
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
	// Renew writes the member's own heartbeat; see beat.Renewal.
	Renew struct {
		Call
		Key    string
		Create bool
		Life   uint64
		TTL    time.Duration // to state; 0: the usual one
		Wait   time.Duration // how long the call may take; 0: a third of the usual TTL
	}
)

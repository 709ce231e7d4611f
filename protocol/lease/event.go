package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Event is what happens to a member. The set is closed.
type Event interface{ at() protocol.Instant }

// Outcome is how a write ended.
type Outcome uint8

// The three outcomes of a write, and the refusal that a decision depends on.
const (
	Done     Outcome = iota
	NotDone          // provably: nothing was changed
	Unknown          // it may have been done, or may be later
	Conflict         // not done: the version is not current
)

type (
	// Woken is the time that WakeAt asked for.
	Woken struct{ Now protocol.Instant }
	// Hinted says that something below a prefix may have changed.
	Hinted struct {
		Now    protocol.Instant
		Prefix string
	}
	// Fetched answers Fetch: the documents in the order of its keys. One that is not there has no version.
	Fetched struct {
		Now, Sent protocol.Instant
		WallMS    int64
		ID        uint64
		Docs      []store.Doc
		Err       string
	}
	// Surveyed answers Survey: all that was asked for and all that was listed, sorted by key.
	Surveyed struct {
		Now, Sent protocol.Instant
		WallMS    int64
		Docs      []store.Doc
		Err       string
	}
	// Written answers Write.
	Written struct {
		Now     protocol.Instant
		ID      uint64
		Outcome Outcome
		Version store.Version
		Err     string
	}
	// Renewed answers Renew. Sent is an instant before the call was sent.
	Renewed struct {
		Now, Sent protocol.Instant
		Key       string
		Beat      uint64
		Outcome   Outcome
		Version   store.Version
		Ended     bool // the session is over, though its documents may still be there
		Err       string
	}
	// ViewRead answers ReadView.
	ViewRead struct {
		Now   protocol.Instant
		View  uint64
		Value cluster.Value
		Err   string
		Halt  error // this member can never read it
	}
	// Shown answers Show.
	Shown struct {
		Now  protocol.Instant
		View uint64
		Err  string
	}
	// Reported is what the supervisor tells.
	Reported struct {
		Now     protocol.Instant
		Version uint64
		Reports []protocol.Report // sorted by partition
	}
	// Proposed asks for commands; Reply answers with the same ID.
	Proposed struct {
		Now      protocol.Instant
		ID       uint64
		Commands []cluster.Command
	}
	// Closed says that the store's handle was closed under the member: nothing can be called any more.
	Closed struct {
		Now protocol.Instant
		Err error
	}
	// Stop asks to leave in order.
	Stop struct {
		Now    protocol.Instant
		Reason string
	}
)

func (e Woken) at() protocol.Instant    { return e.Now }
func (e Hinted) at() protocol.Instant   { return e.Now }
func (e Fetched) at() protocol.Instant  { return e.Now }
func (e Surveyed) at() protocol.Instant { return e.Now }
func (e Written) at() protocol.Instant  { return e.Now }
func (e Renewed) at() protocol.Instant  { return e.Now }
func (e ViewRead) at() protocol.Instant { return e.Now }
func (e Shown) at() protocol.Instant    { return e.Now }
func (e Reported) at() protocol.Instant { return e.Now }
func (e Proposed) at() protocol.Instant { return e.Now }
func (e Closed) at() protocol.Instant   { return e.Now }
func (e Stop) at() protocol.Instant     { return e.Now }

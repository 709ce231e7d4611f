package machine

import (
	"context"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is one protocol. Its functions are pure, but for those of a [Caller].
type Machine struct {
	Name string
	// Joined lists the phases of a member that takes part: it may own partitions and takes requests.
	Joined []string
	// Faults are what can happen, and in which phases.
	Faults []Fault
	// Start is a member that has just started.
	Start func(Start) State
	// Step takes one event in, and changes the state.
	Step func(State, Event) []Effect
	// Act says what an effect asks for.
	Act func(Effect) Act
	// Caller makes a member's calls, on a handle of its own.
	Caller func(Start, Store) Caller
	// Watches are the prefixes of the documents whose changes a member is told of, and whether it is told that the log has grown.
	Watches func(State) (prefixes []string, log bool)
	// Events makes what happens to every member.
	Events Events
	// Fold and Truth are the truth: the value behind a new entry of the log, and behind a change of documents, in one world. Nil says that neither
	// means anything.
	Fold  func(before cluster.Value, r store.Record) (Change, error)
	Truth func() Truth
	// Group: members are those of a group, which the store has then. There are no pools of slots.
	Group bool
	// Encode is an entry as the log has it; nil: as package cluster writes it.
	Encode func(cluster.Entry) []byte
	// Stray is a document that is left behind and belongs to nobody, "" for none.
	Stray func(v *cluster.Value, docs []store.Doc) string
	// Gap is for how long a partition may have no owner after one failure of this kind; Recovery is for how long after many. Both are by
	// clocks that are right.
	Gap      func(Times, Kind) time.Duration
	Recovery func(Times) time.Duration
	// Notice names what happens in a cluster whose members are in these phases, "" for nothing. It is counted as a fault. Nil: never.
	Notice func(phases []string) Kind
	// Describe is one word, or a few, about an event or an effect; "" stands for its type.
	Describe func(any) string
}

// Event and Effect are the protocol's own.
type (
	Event  any
	Effect any
)

// Truth is the value after a change of one document.
type Truth func(before cluster.Value, docs func() []store.Doc, key string) Change

// State is all that one member knows.
type State interface {
	Phase() string
	Value() cluster.Value
	Assigned() protocol.Assignment
	Now() protocol.Instant
	// TTL is for how long others wait when the member is silent.
	StatedTTL() time.Duration
}

// Store is a member's connection to the store.
type Store interface {
	store.Full
	store.Sessions
}

// Caller makes store calls and turns their answers into events.
type Caller interface {
	Call(ctx context.Context, e Effect) Event
	Timeout(e Effect) time.Duration
	Close(ctx context.Context)
}

// Start is one start of one member.
type Start struct {
	Join          cluster.PrepareJoin // name, slots and labels
	Nonce         string              // of this start
	TTL           time.Duration
	Longest       time.Duration // that it may state while its renewals are slow; 0: always TTL
	Rho           int64         // thousandths
	Margin, Hold  time.Duration
	Poll          time.Duration
	SnapshotEvery uint64
	// Hints: the store tells of changes. Sessions: a document may go with its process. Expire: also with a process that is silent.
	Hints, Sessions, Expire bool
	Guard                   protocol.Guard // nil for none
	Now                     func() protocol.Instant
	Wall                    func() time.Time
}

// Events makes the events that are alike for all protocols. Their instants are filled in by [Stamped].
type Events struct {
	Woken    Event
	Log      Event                     // the log has grown
	Doc      func(prefix string) Event // a document under a watched prefix has changed
	Stop     func(reason string) Event
	Reported func(version uint64, reports []protocol.Report) Event
	Proposed func(id uint64, commands []cluster.Command) Event
}

// Times are what bounds depend on.
type Times struct {
	TTL, Poll time.Duration
	Slowest   time.Duration // round trip
	Vanishes  bool          // what a killed process held goes at once
}

// Change is what an entry or a document did to the value.
type Change struct {
	After cluster.Value
	// Entry is what was applied, and how; nil where the value was assembled, or nothing was applied.
	Entry *cluster.Entry
	Done  cluster.Applied
}

package machine

import (
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
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
	// Call tells whether an effect is a call of the store, and what it asks for.
	Call func(Effect) (Call, bool)
	// Caller makes a member's calls, on a handle of its own.
	Caller func(Start, Store) Caller
	// Watches are the prefixes of the documents whose changes a member is told of, and whether it is told that the log
	// has grown.
	Watches func(State) (prefixes []string, log bool)
	// Fold and Truth are the truth: the value behind a new entry of the log, and behind a change of documents, in one
	// world. Nil says that neither means anything.
	Fold  func(before cluster.Value, r store.Record) (Change, error)
	Truth func() Truth
	// Group: members are those of a group, which the store has then. There are no pools of slots.
	Group bool
	// Encode is an entry as the log has it; nil: as package cluster writes it.
	Encode func(cluster.Entry) []byte
	// Stray is a document that is left behind and belongs to nobody, "" for none.
	Stray func(v *cluster.Value, docs []store.Doc) string
	// Gap is for how long a partition may have no owner after one failure of this kind; Recovery is for how long after
	// many. Both are by clocks that are right.
	Gap      func(Times, Kind) time.Duration
	Recovery func(Times) time.Duration
	// Leads is the phase of a member that takes itself for the leader, "" for none. Two at the same instant are counted
	// as a fault.
	Leads string
}

// Told are the prefixes of which a member is told when a document changes, or, for "", the log: that has the prefix "".
func (m *Machine) Told(s State, key string) (told []string) {
	prefixes, log := m.Watches(s)
	if key == "" && log {
		return []string{""}
	}
	for _, p := range prefixes {
		if key != "" && strings.HasPrefix(key, p) {
			told = append(told, p)
		}
	}
	return told
}

// Event and Effect are those that all protocols share, and the protocol's own. Caller makes store calls and turns their
// answers into events.
type (
	Event  = member.Event
	Effect = member.Effect
	Caller = shell.Caller
)

// Truth is the value after a change of one document.
type Truth func(before cluster.Value, docs func() []store.Doc, key string) Change

// State is all that one member knows.
type State interface {
	Phase() string
	Value() cluster.Value
	Assigned() protocol.Assignment
	Now() protocol.Instant
	// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
	Tenure() (cluster.Incarnation, protocol.Instant)
	// TTL is for how long others wait when the member is silent.
	StatedTTL() time.Duration
}

// Store is a member's connection to the store.
type Store interface {
	store.Full
	store.Sessions
}

// Times are what bounds depend on.
type Times struct {
	TTL, Poll time.Duration
	Slowest   time.Duration // round trip
	Vanishes  bool          // what a killed process held goes at once
}

// Gap is the time for looks and calls, and, unless the one that fails says so itself or the kernel does, that of the
// silence before.
func (t Times) Gap(k Kind, looks, silence time.Duration) time.Duration {
	if k == LeaveInOrder || k == Crash && t.Vanishes {
		return looks
	}
	return looks + silence
}

// Change is what an entry or a document did to the value.
type Change struct {
	After cluster.Value
	// Entry is what was applied, and how; nil where the value was assembled, or nothing was applied.
	Entry *cluster.Entry
	Done  cluster.Applied
}

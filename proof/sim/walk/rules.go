package walk

import (
	"bytes"
	"reflect"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Rules are what the walk must know of a protocol besides its machine.
type Rules struct {
	Machine *machine.Machine
	// Way is how a call is walked. The walk has few moves where it is right, and misses some where it is not.
	Way func(Config, machine.Effect) Way
	// Prompt tells whether a call of the way Quiet is answered at once.
	Prompt func(Store, machine.State, machine.Effect) bool
	// Read is the event that brings entries of the log to a member; nil where the member reads none. Reads are under way all the time.
	Read func(machine.State, store.Page) machine.Event
	// Folds tells whether a member folds the log by calls of its own; it is for machines whose Read is nil.
	Folds func(machine.State) bool
	// Once: members that crash do not start again. A walk has no clock, so it cannot wake one that waits for the end of its former start.
	Once bool
	// Settled: a walk begins when all members have joined, one after the other, and every partition runs. The machine's members are told of changes: at
	// once, or, while a write of theirs is under way, in a move of its own.
	Settled bool
	// Heartbeat tells whether a document is renewed again and again.
	Heartbeat func(key string) bool
	// JoinFirst: a member's first write is all that it asks for at its start.
	JoinFirst bool
	// Names are the documents that an effect makes known to others; a document that nobody can have heard of is written at once.
	Names func(machine.Effect) []string
	// Key appends what decides a member's future, Effect and Event what a call and an answer that wait say.
	Key    func(b []byte, s machine.State, n *Names) []byte
	Effect func(b []byte, e machine.Effect, n *Names) []byte
	Event  func(b []byte, ev machine.Event, s machine.State, n *Names) []byte
	// Beat is the heartbeat to the group that a member may send now, nil for none; Before tells whether a call that was sent at an instant was sent before
	// what its answer is compared with. They are for machines with a Group, whose members' clocks go on by one with each event. A call to the group of the
	// way Unseen is answered as soon as the group answers; of another way, in a move of its own.
	Beat   func(machine.State) machine.Effect
	Before func(machine.State, protocol.Instant) bool
	// Doc appends what a document says; nil: all of it.
	Doc func(b []byte, d store.Doc, n *Names) []byte
	// Decode is what a document says, so that its key names it as it does what members know. With it only the
	// order of the versions of a document counts, and none comes twice. It may be nil.
	Decode func(key string, text []byte) any
	Skip   []string // fields of documents that decide nothing
	// Over names the version of a document over which a call writes; "" for none. Nobody waits for a late write over a version that is no more: it is dropped.
	Over func(machine.Effect) (key string, v store.Version)
	// Value appends the parts of the value that decide its next change, other than members and partitions. It may be nil.
	Value func(b []byte, v *cluster.Value, n *Names) []byte
}

// alike tells whether two calls are the same, as far as the walk can tell.
func (r *Rules) alike(a, b machine.Effect) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && bytes.Equal(r.Effect(nil, a, nil), r.Effect(nil, b, nil))
}

// Way is how a call is walked.
type Way uint8

// The ways.
const (
	Ignored Way = iota // it is never answered
	Unseen             // it is done and answered at once: nobody else can tell
	Quiet              // it is done and answered in a move of its own, or at once where the rules say that it is prompt
	Secret             // as Quiet; prompt while nobody can have heard of its document
	Risky              // a write that may fail, be done twice, lose its answer, or be done after its sender has died
)

// Store is what calls see.
type Store interface {
	Exists(key string) bool
}

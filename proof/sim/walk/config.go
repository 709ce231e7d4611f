// Package walk walks every interleaving of a few members of any protocol.
//
// The simulator draws runs by chance; this package leaves none out, within bounds. It runs the real step function and
// the real calls of a [machine.Machine] over a model of the store and of the supervisor, and asks after every move
// whether a promise is broken. What differs between protocols is in their [Rules].
//
// A complete walk without violations proves G1, G2, that tokens grow, that nobody works before it is joined, that
// nobody halts, and that from every state a good end can be reached, for the given members and faults and the moves of
// [Model.Next].
//
// Time is abstract: clocks stand still, but that a member which loses its session while it lives finds its own clock
// beyond its lease when it goes on, as a store with sessions and the bound on clocks' rates give it. Clocks that drift,
// silent heartbeats, snapshots and truncation belong to the simulator. What nobody else can observe happens at once:
// the first read of the log, calls that the rules name, the supervisor's answer.
//
// Where the rules say so, a walk begins when all members have joined, one after the other: how members start at the
// same time, and what one does that looks again after some time, then belongs to the simulator. Members are told of
// every change; with Prompt they are told, and read what has changed, before anything else happens, so that only writes
// that are under way grow old.
package walk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Fault is a kind of fault that a walk bounds.
type Fault uint8

// The kinds.
const (
	Crashes    Fault = iota // between any two effects
	Restarts                // of crashed members, under their names
	Suspicions              // heartbeats of live members that vanish
	Duplicates              // appends that are done although their answer is lost, or are done twice
	Failures                // appends that the store provably does not do
	Leaves                  // members that are asked to leave in order
	Forgets                 // of the group, while nobody is in it
	Lines                   // lines between a process that lives and its guardian that are closed
)

// String is the word for the kind.
func (f Fault) String() string {
	return [...]string{"crashes", "restarts", "suspicions", "duplicates", "failures", "leaves", "forgets", "lines"}[f]
}

// Faults are how many there are of each kind.
type Faults [Lines + 1]int

// Config bounds a walk.
type Config struct {
	Members    int // that start
	Partitions int // of one job that was submitted before
	Faults     Faults
	Guardians  bool // each process has a guardian
	Handover   cluster.Handover
	Sweeps     bool // members list all heartbeats when they join, as they do now and then; without, only the watched ones are looked at
	// Prompt makes members read all that is new in one go: at once while they have no append under way, at any time
	// while they have one. That leaves out the states in which a member decides on what is no longer true; what it has
	// decided and not yet written grows old all the same.
	Prompt bool
	// Timeless lets a suspected member go on as if no time had passed: its heartbeat has vanished before its lease was
	// over. No store may do that, so G2 must break. It shows that the walk would notice.
	Timeless bool
}

// String says what is bounded how.
func (c Config) String() string {
	parts := []string{fmt.Sprintf("%d members, %d partitions", c.Members, c.Partitions)}
	for f, n := range c.Faults {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, Fault(f)))
		}
	}
	if c.Guardians {
		parts = append(parts, "guardians")
	}
	if c.Handover != cluster.HandoverAtMostOne {
		parts = append(parts, c.Handover.String())
	}
	if c.Sweeps {
		parts = append(parts, "sweeps")
	}
	if c.Prompt {
		parts = append(parts, "prompt")
	}
	return strings.Join(parts, ", ")
}

// ttl is any time: nothing passes but the time that a suspected member was away.
const ttl = time.Minute

func name(i int) cluster.MemberID { return cluster.MemberID(string(rune('a' + i))) }

const job = cluster.JobID("j")

// founding is the first entry of the log: an operator has submitted the job.
func founding(c Config) cluster.Entry {
	keys := make([]string, c.Partitions)
	for i := range keys {
		keys[i] = string(rune('0' + i))
	}
	task := cluster.TaskSpec{Type: "steady", Spread: cluster.SpreadPartitioned, Handover: c.Handover, Partitions: keys}
	return cluster.Entry{
		Writer: "operator", Seq: 1,
		Commands: []cluster.Command{cluster.SubmitJob{Job: job,
			Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{task}}}},
	}
}

// Check tells what of the bounds can't be walked; nil if all can.
func (c Config) Check() error {
	if c.Members < 1 || c.Members > 9 {
		return fmt.Errorf("%d members can't be walked: choose 1 to 9", c.Members)
	}
	if c.Partitions < 1 || c.Partitions > 9 {
		return fmt.Errorf("%d partitions can't be walked: choose 1 to 9", c.Partitions)
	}
	if slices.Min(c.Faults[:]) < 0 {
		return errors.New("a number of faults is negative")
	}
	return nil
}

// Rules are what the walk must know of a protocol besides its machine.
type Rules struct {
	Machine *machine.Machine
	// Way is how a call is walked. The walk has few moves where it is right, and misses some where it is not.
	Way func(Config, machine.Effect) Way
	// Prompt tells whether a call of the way Quiet is answered at once, by which documents exist; nil: each is.
	Prompt func(exists func(key string) bool, s machine.State, e machine.Effect) bool
	// Read is the event that brings entries of the log to a member; nil where the member reads none. Reads are under
	// way all the time.
	Read func(machine.State, store.Page) machine.Event
	// Folds tells whether a member folds the log by calls of its own; it is for machines whose Read is nil. Nil: none.
	Folds func(machine.State) bool
	// Once: members that crash do not start again. A walk has no clock, so it cannot wake one that waits for the end of
	// its former start.
	Once bool
	// Settled: a walk begins when all members have joined, one after the other, and every partition runs. The machine's
	// members are told of changes: at once, or, while a write of theirs is under way, in a move of its own.
	Settled bool
	// Heartbeat tells whether a document is renewed again and again.
	Heartbeat func(key string) bool
	// JoinFirst: a member's first write is all that it asks for at its start.
	JoinFirst bool
	// Names are the documents that an effect makes known to others; a document that nobody can have heard of is written
	// at once.
	Names func(machine.Effect) []string
	// Key appends what decides a member's future, Effect what a call says that waits.
	Key    func(b []byte, s machine.State, n *Names) []byte
	Effect func(b []byte, e machine.Effect, n *Names) []byte
	// Beat is the heartbeat to the group that a member may send now, nil for none; Before tells whether a call that was
	// sent at an instant was sent before what its answer is compared with. They are for machines with a Group, whose
	// members' clocks go on by one with each event. A call to the group of the way Unseen is answered as soon as the
	// group answers; of another way, in a move of its own.
	Beat   func(machine.State) machine.Effect
	Before func(machine.State, protocol.Instant) bool
	// Doc appends what a document says; nil: all of it.
	Doc func(b []byte, d store.Doc, n *Names) []byte
	// Decode is what a document says, so that its key names it as it does what members know. With it only the
	// order of the versions of a document counts, and none comes twice. It may be nil.
	Decode func(key string, text []byte) any
	// Skip are fields, by type and name, that are in no key: what they say decides nothing, or follows from the rest.
	Skip []string
	// Over names the version of a document over which a call writes; "" for none. Nobody waits for a late write over a
	// version that is no more: it is dropped.
	Over func(machine.Effect) (key string, v store.Version)
	// Value appends the parts of the value that decide its next change, other than members and partitions. It may be
	// nil.
	Value func(b []byte, v *cluster.Value, n *Names) []byte
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

// Heartbeats appends the heartbeats that commands name.
func Heartbeats(to []string, cs []cluster.Command) []string {
	for _, c := range cs {
		switch c := c.(type) {
		case cluster.PrepareJoin:
			to = append(to, c.Heartbeat)
		case cluster.ConfirmMember:
			to = append(to, c.Heartbeat)
		}
	}
	return to
}

// Package member is what a member is under every protocol: what happens to it, what it wants done, and what it knows.
//
// # Purpose
//
// A protocol decides in one function of its state and an event: it changes that state, returns effects, and does
// nothing else. [Core.Step] is its frame, a [Machine] what a protocol adds. The events and effects that every protocol
// has, and those of protocols with a log, are types of this package; a protocol adds its own beside them. Package shell
// does the effects and makes the events. What all members know is a [Core], which the state of each protocol embeds.
// The protocol says what it can prove ([Stand]) and what is to run; the core does the rest: the walk through the
// phases, its own lease, what the supervisor is given, how a member leaves, halts or is removed, and when it wants to
// be woken.
//
// # State
//
// A protocol goes through the phases that it has, in this order; from removed it goes back, in another life.
//
//	reading ──→ naming ──→ beginning ──→ joining ──→ member ──→ leaving ──→ gone
//	                          ↑                       │  ↑
//	                          └─ a lease ran out ─────┤  └── confirming (see [Lapse])
//	                                                  └────→ removed
//
// Any phase ends in halted when going on would be wrong.
//
// # Guarantees
//
//   - The package is pure: nothing in it looks at a clock, a store or chance. A [Core] is a value between two steps.
//   - [protocol.Assignment.ValidUntil] comes from the own lease alone: it ends before others may count the member out.
//     An acknowledgement that comes after its end extends nothing under [Confirm]; under [RenewLate] it proves that
//     nobody has counted the member out.
//   - A key of a heartbeat is never used again: a life that was lost ends it.
//   - No phase changes without proof: "not seen" is not "removed". That a member is joined is said once in a life.
//   - A halted member runs nothing: its grants are taken away in the same step.
//
// # What is not guaranteed
//
// An event says what was seen, not what is so now.
//
// # Failures
//
// None: a call that failed is an event. A renewal that was not acknowledged, or whose outcome is unknown, was none.
package member

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// Params are what every member's decisions depend on besides what happens. They do not change.
type Params struct {
	Member cluster.MemberID
	// Join is what it says of itself when it joins, but for Replaces and Heartbeat.
	Join cluster.PrepareJoin
	// Nonce tells this start of the process from all others.
	Nonce string
	// Timing is what the member's own lease goes by. Its TTL is also that of others who state none.
	heartbeat.Timing
	Hints Hints
	// Poll is how often it looks where the store does not hint, and the pause behind what failed.
	Poll time.Duration
	// Hold is how long grants are kept for an announced restart.
	Hold time.Duration
	// SnapshotEvery is how many entries lie between two snapshots of a log.
	SnapshotEvery uint64
	// Restart: the member's own leave announces a restart.
	Restart bool
}

// Writer is who writes the entries of this start.
func (p Params) Writer() cluster.WriterID { return cluster.WriterID(string(p.Member) + "-" + p.Nonce) }

// LogEvery is how often it reads a log without a hint: rarely where the store hints, and hints may get lost.
func (p Params) LogEvery() time.Duration {
	if p.Hints.Log {
		return max(p.Poll, p.TTL*2/5)
	}
	return p.Poll
}

// Hints are what a store tells of by itself. Of all else members ask by the clock, and where that is all, much time
// goes by until others know of a death.
type Hints struct {
	Log, Docs bool // that the log has grown, and that documents have changed
	Ends      bool // also the end of a heartbeat: so one is read when its next renewal is due, of which the store need not hint
	Vanish    bool // and it ends that of a silent process by itself
}

// Core is what a member knows under every protocol. A protocol's state embeds it, and is a value with it.
type Core struct {
	Params
	At     protocol.Instant // the newest instant that it has seen
	Is     Phase
	Life   uint64              // how many lives it has had
	Joined bool                // this life has been joined
	Inc    cluster.Incarnation // in which it is in; 0: not in
	Stop   string              // why it leaves; "" while it stays

	Own   Own
	Pace  heartbeat.Pace // outlasts lives
	lapse Lapse

	Given    protocol.Assignment // what the supervisor was given last
	Reports  []protocol.Report
	Reported uint64 // Assignment.Version that Reports are about
	Silent   bool   // there is nothing to say of the duties until they or the reports change

	Contact Contact
	Wake    protocol.Instant // that was asked for last
	fx      []Effect         // of the step that is under way
}

// NewCore is that of a member that has just started.
func NewCore(p Params, l Lapse) Core { return Core{Params: p, lapse: l, Wake: -1} }

// Emit wants something done.
func (c *Core) Emit(fx ...Effect) { c.fx = append(c.fx, fx...) }

// End ends the step, and returns its effects.
func (c *Core) End() []Effect {
	fx := c.fx
	c.fx = nil
	return fx
}

// Over reports whether the member takes part in nothing any more.
func (c *Core) Over() bool { return c.Is == PhaseGone || c.Is == PhaseHalted }

// Halt ends the member because going on would be wrong. Its work stops at once. The index is that of the newest value,
// here and below.
func (c *Core) Halt(index cluster.Index, err error) {
	if c.Is == PhaseHalted {
		return
	}
	c.Is = PhaseHalted
	c.Revoke(index, 0)
	c.Emit(Halt{Err: err})
}

// The reasons to leave.
const (
	Gracefully = "left gracefully"
	Evicted    = "was evicted" // for good: nobody waits for it
)

// Holds reports whether the leave announces a restart.
func (c *Core) Holds() bool { return c.Restart && c.Stop != Evicted }

// Leave begins to leave gracefully. It is over at once where nobody has heard of the member, or whoever has removed it
// will hear of another life first. That cannot be said of a member that Resume keeps.
func (c *Core) Leave(index cluster.Index, reason string) {
	c.Stop = reason
	if c.lapse != Resume && c.Is < PhaseJoining || c.lapse == RenewLate && c.Is == PhaseRemoved {
		c.Gone()
		return
	}
	c.Is = PhaseLeaving
	c.Revoke(index, c.Given.ValidUntil) // what runs stops because it leaves, not because it lost its lease
}

// Gone ends the member: it has left.
func (c *Core) Gone() {
	c.Is = PhaseGone
	c.Emit(Left{})
}

// Now is the newest instant that the member has seen.
func (c Core) Now() protocol.Instant { return c.At }

// Waking finds the next instant at which something is due, within a poll.
type Waking struct{ now, next protocol.Instant }

// Waking begins with the next poll.
func (c *Core) Waking() Waking { return Waking{c.At, c.At.Add(c.Poll)} }

// Due adds an instant. What is past, or waits for an answer, is not due.
func (w *Waking) Due(busy bool, at protocol.Instant) {
	if !busy && at > w.now && at < w.next {
		w.next = at
	}
}

// WakeAt asks to be woken then, unless that was asked for last.
func (c *Core) WakeAt(w Waking) {
	if w.next != c.Wake {
		c.Wake = w.next
		c.Emit(WakeAt{At: w.next})
	}
}

// Assign gives the supervisor an assignment, valid until an instant, unless it has that one.
func (c *Core) Assign(next protocol.Assignment, until protocol.Instant) {
	next.ValidUntil = until
	if next.Version != c.Given.Version || next.ValidUntil != c.Given.ValidUntil {
		c.Given = next
		c.Emit(Assign{Assignment: next})
	}
}

// Revoke takes all grants away from the supervisor.
func (c *Core) Revoke(index cluster.Index, lease protocol.Instant) {
	if len(c.Given.Grants) == 0 && c.Given.ValidUntil == lease && c.Given.Version > 0 {
		return
	}
	c.Given = protocol.Assignment{Index: index, Version: c.Given.Version + 1, ValidUntil: lease}
	c.Emit(Assign{Assignment: c.Given})
}

// Idle reports whether nothing runs here and nothing will be started under grants that were taken away.
func (c *Core) Idle() bool { return len(c.Given.Grants) == 0 && len(c.Reports) == 0 && !c.Behind() }

// Behind reports whether the supervisor has yet to take in what it should do: then "not reported" proves nothing.
func (c *Core) Behind() bool { return c.Reported < c.Given.Version }

// Assigned is what the supervisor was given last.
func (c Core) Assigned() protocol.Assignment { return c.Given }

// In reports whether the member is joined.
func (c *Core) In() bool { return c.Is == PhaseMember && c.Joined }

// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
func (c Core) Tenure() (cluster.Incarnation, protocol.Instant) {
	if !c.In() {
		return 0, 0
	}
	return c.Inc, c.Given.ValidUntil
}

// Contact is what the answers to its calls have told a member of its store.
type Contact struct {
	Problem string // why the store is away; "" where it is not
	// Refuses is set while a write has failed and none has been acknowledged since. Then it says nothing that the store
	// answers reads: on a full disk it does.
	Refuses bool
	Heard   protocol.Instant // when the store has answered last
}

// Answered takes in a read, or a write that was answered and not done for a good reason; err is "" where the store has
// answered.
func (c *Core) Answered(err string) { c.hear(err, c.Contact.Refuses) }

// Wrote takes in a write; done: it was acknowledged.
func (c *Core) Wrote(err string, done bool) {
	c.hear(err, err != "" || !done && c.Contact.Refuses)
}

// Appended takes in an append. That an entry is too large says nothing of the store.
func (c *Core) Appended(ev Appended) {
	if ev.Outcome == outbox.Refused {
		c.Answered("")
		return
	}
	c.Wrote(ev.Err, ev.Outcome == outbox.Done)
}

func (c *Core) hear(problem string, refuses bool) {
	if problem == "" {
		c.Contact.Heard = c.At
		if refuses {
			return
		}
	}
	if (problem == "") != (c.Contact.Problem == "") {
		c.Emit(StoreChanged{Err: problem})
	}
	c.Contact.Problem, c.Contact.Refuses = problem, refuses
}

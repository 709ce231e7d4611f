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
//
// # Where it comes from
//
// It was written in each of the packages replica, leader, lease and sync (docs/decisions, 93 and 100).
package member

// Package heartbeat decides, on both sides of a heartbeat document, how long its owner may act: the owner by its lease, everybody else by what they have
// observed. It is pure: time comes in as instants of the caller's own clock, and the caller makes the calls.
//
// # Purpose
//
// A member, or a process that holds locks, renews one document. When it is silent for long enough, others take over what it has. The two sides never
// compare their clocks, and this package keeps them apart: [Lease] is the owner's side, [Observation] the side of a watcher, [Timing] what both wait for.
//
// # State
//
//	owner     no lease ──→ held, renewed at T/3 ──→ lapsed (for good: the owner begins another epoch, under another key)
//	                            ↑______│
//	watcher   unknown ──→ known ──→ dead: gone, or the same version for T(1+ρ)
//
// The document states the TTL of its owner ([Text]); a watcher waits by that one, which may be another than its own. Its version changes with each
// renewal, and its content is for people.
//
// # Guarantees
//
//   - An owner's lease is valid until T(1−ρ) − margin after it sent the last renewal that was acknowledged, by its own clock.
//   - A watcher counts an owner as dead when a read found no document, or when it has seen the same version for T(1+ρ) by its own clock: from after the
//     first look at it until before a read was sent that still found it.
//   - So where no clock's rate is off by more than ρ, whoever is counted as dead by silence has no valid lease, whatever the delays of calls.
//   - What is listed is a hint: it may be old. It can delay a decision and never makes one.
//
// # What is not guaranteed
//
// An owner that acts without a look at its clock may act after its lease. What must not happen then needs a fencing token.
// An owner whose document is removed, or whose session the store ends too early, is counted as dead while its lease is valid.
// A key must never be used again after its lease has lapsed, and a renewal that is acknowledged after that counts for nothing: both are the caller's part.
//
// # Failures
//
// A renewal whose outcome is unknown does not extend the lease. A read that fails is no look.
// A document that does not state a TTL within reason states none: the watcher waits by its own.
//
// # Where it comes from
//
// The owner's own deadline follows Gray and Cheriton, "Leases" (1989). That others wait by their own clocks for a version that does not change is how
// Kubernetes elects leaders.
package heartbeat

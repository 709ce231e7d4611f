// Package heartbeat decides, on both sides of a heartbeat document, how long its owner may act: the owner by its lease,
// all others by their observations. It is pure: times are instants of the caller's own clock, and the caller makes the
// calls.
//
// # Purpose
//
// A member, or a process that holds locks, renews one document. When it has been silent for long enough, others take
// over what it has. The two sides never compare their clocks, and this package keeps them apart: [Lease] is the owner's
// side, [Observation] the watcher's side, [Timing] the durations of both.
//
// # State
//
//	owner     no lease ──→ held, renewed at T/3 ──→ lapsed (for good: the owner begins another epoch, under another key)
//	                            ↑______│
//	watcher   unknown ──→ known ──→ dead: gone, or the same version for T(1+ρ)
//
// The document states the TTL of its owner ([Text]); a watcher waits for that one, which may differ from its own. Its
// version changes with each renewal, and the rest of its content is for people.
//
// # Guarantees
//
//   - An owner's lease is valid until T(1−ρ) − margin after it sent the last acknowledged renewal, by its own clock.
//   - The TTL may change with each renewal ([Pace] lengthens it while renewals are slow). A longer one counts for the
//     owner when it is acknowledged, a shorter one as soon as it is sent.
//   - A watcher counts an owner as dead when a read found no document, or when it has observed the same version for
//     T(1+ρ) by its own clock: from after the first read that found it until before a read was sent that still found
//     it.
//   - So if no clock's rate is wrong by more than ρ, an owner that counts as dead by silence has no valid lease,
//     whatever the delays of calls.
//   - A watcher that looks when [Observation.Next] says so sees each renewal within a poll, with about one look for
//     each.
//   - A list is a hint: it may be stale. It can delay a decision and never makes one.
//
// # What is not guaranteed
//
// An owner that acts without checking its clock may act after its lease. Actions that must not happen then need a
// fencing token. An owner whose document is removed, or whose session the store ends too early, counts as dead while
// its lease is valid. A key must never be reused after its lease has lapsed, a renewal acknowledged after that has no
// effect, and watchers get to know a key after its first renewal was acknowledged: the caller must ensure that. But
// where nobody counts an owner out before a write over its heartbeat is acknowledged, as in package lease, a lapsed one
// may be renewed: that this was acknowledged proves that nobody has.
//
// # Failures
//
// A renewal with an unknown outcome does not extend the lease. A failed read proves nothing.
// If a document states no reasonable TTL, the watcher waits for its own.
//
// # Where it comes from
//
// The owner's own deadline follows Gray and Cheriton, "Leases" (1989). Waiting by one's own clock for a version that
// does not change is how Kubernetes elects leaders.
package heartbeat

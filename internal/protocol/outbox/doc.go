// Package outbox decides what a writer appends next to a shared log, and when it retries. It is pure.
//
// # Purpose
//
// A protocol derives commands from its state, and forwards requests. Both go through an outbox ([Box]), which makes
// numbered entries of them, one at a time, and handles their outcomes.
//
// # State
//
//	nothing pending ──Compose──→ pending ──Sent──→ under way ──┬─ done, and applied here ──→ nothing pending: the requests are answered
//	                                ↑                          ├─ done, not applied yet ───→ pending, at a known index
//	                                │                          ├─ not done ────────────────→ nothing pending: the requests wait again
//	                                └────────── unknown ───────┴─ refused as too large ────→ nothing pending: smaller entries
//
// # Guarantees
//
//   - An entry with an unknown outcome is appended again under the same number until it is found in the log. So it
//     counts once, because the value drops entries whose number it has seen.
//   - A request is answered once: with the results of its commands, or with the reason why there are none.
//   - What the state asks for is never queued: it is derived again for each entry, so an entry that was not appended
//     leaves no trace.
//
// # What is not guaranteed
//
// A request that was applied before a snapshot to which the writer has jumped is answered without its results.
//
// # Failures
//
// An entry that is too large for the store is halved. A single request that is too large is answered with that error.
//
// # Where it comes from
//
// It was the outbox of package replica; the protocols with a leader append in the same way.
package outbox

// Package beat writes the heartbeat of one member to a store: through a session where the store has sessions, so that it goes with the process.
//
// # Purpose
//
// What a heartbeat means, and when it is renewed, is decided elsewhere (package heartbeat); this package makes the calls.
//
// # State
//
//	no session ──→ its first write ──→ renewed ──→ another life begins, and the former session stays for three writes ──→ closed
//
// # Guarantees
//
//   - A write whose outcome was unknown is found again: nobody else writes the document of a life.
//   - A heartbeat that was removed is not written again, unless it is the first write of its life: see store.ErrSession.
//   - The heartbeat of a former life stays until the present one was written three times. Sooner, those who have not yet heard of the new one would report
//     the member as gone.
//
// # What is not guaranteed
//
// That a renewal which was acknowledged came in time: its sender counts from before the call.
//
// # Failures
//
// Outcomes are those of package outbox: Refused says that the heartbeat or its session is gone.
//
// # Where it comes from
//
// It was the writer of heartbeats of package replica.
package beat

// Package beat writes the heartbeat of one member to a store: through a session if the store has them, so that it
// vanishes with the process.
//
// # Purpose
//
// Package heartbeat decides the meaning of a heartbeat and when it is renewed; this package makes the calls.
//
// # State
//
//	no session ──→ its first write ──→ renewed ──→ another epoch begins, and the former session stays for three writes ──→ closed
//
// # Guarantees
//
//   - A write with an unknown outcome is found again: no other process writes the document of an epoch, but for those
//     that fence.
//   - A removed heartbeat is not written again, unless it is the first write of its epoch: see store.ErrSession.
//   - The heartbeat of a former epoch stays until the present one was written three times. If it went sooner, members
//     that do not know the new one yet would report the member as gone.
//   - Where others end a lease by a write over the heartbeat, or its removal ([Writer.Fenced]), that stays: no renewal
//     writes over it, and the heartbeat of a former life goes before the next one begins.
//   - A heartbeat states no longer TTL than that of its session, where the store ends the sessions of silent processes.
//
// # What is not guaranteed
//
// An acknowledged renewal may have come too late: its sender counts from before the call.
//
// # Failures
//
// Outcomes are those of package outbox: Refused means that the heartbeat or its session is gone.
package beat

// Package fold reads the log of a place, entry by entry, and applies it to a value. Members, clients and read-only
// commands share it.
//
// # Purpose
//
// Protocols with a log differ in who appends and in what, not in how the log is read and written. [Ledger] is the pure
// part of a member: it has the value, decides what is read and appended next, and handles the answers. [Reader] is a
// member that knows the whole value by it. The functions read as an observer, without being a member. [Client] appends
// commands as one.
//
// # State
//
// A Ledger has the value, the outbox, the calls in flight, the recent history and the snapshot that is due. An
// observer's value is the caller's, who passes it in again to continue.
//
// # Guarantees
//
//   - An observer writes nothing, and returns the value at the head of the log, as of a moment after the call began.
//   - Trimmed entries are skipped through the snapshot that replaces them.
//   - A Ledger applies each entry once, in the order of the log, and halts where the log is not the one that it has
//     read before.
//   - An entry may name another history than that of the member: then one of the two differs from the log, and the
//     store is asked, once for each rest. A member with the history of the log goes on, whatever an entry says;
//     another one learns it by the first answer.
//
// # What is not guaranteed
//
// The cluster may have decided more since. An observer does not notice a rewritten log, and a member
// not before an entry shows it, whose base is not older than what is kept.
//
// # Failures
//
// The error is that of the store, a *cluster.FormatError for a log that a newer Rota has written, or reports that a
// snapshot is missing.
//
// # Where it comes from
//
// It was a part of package replica, and was written again in the packages sync and leader (docs/decisions, 100).
package fold

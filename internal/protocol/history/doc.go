// Package history verifies that a member has applied what the store's log contains.
//
// # Purpose
//
// An entry names the history that its writer had applied. If that is not this member's, one of the two differs from the log: the store lost or rewrote
// entries that the member had read, or the writer did not read this log. The store decides: what a new reader would read now is right.
//
// # State
//
// The chain hashes of what the member has applied lately, and the doubt: whether an entry has named another history and the store was not asked yet.
//
// # Guarantees
//
//   - A member whose history is that of the log continues, whatever an entry says.
//   - A member whose history is not that of the log learns it by the first answer of the store after such an entry.
//   - Doubts in a row cost one question for each rest.
//
// # What is not guaranteed
//
// That a rewrite is noticed before an entry shows it. Entries with a base older than what is kept show nothing.
//
// # Failures
//
// An answer that failed, or that cannot be compared, leaves the doubt open; the member asks again after the rest.
//
// # Where it comes from
//
// It was a part of package replica, where every doubt ended the member.
package history

// Package fold reads the log of a place without being a member: to its newest value, or entry by entry.
//
// # Purpose
//
// Read-only commands, clients and screens read what members have agreed on, without taking part. It is the same for all protocols that keep a log.
//
// # State
//
// None: the caller keeps the value, and passes it in again to continue.
//
// # Guarantees
//
//   - It writes nothing.
//   - It returns the value at the head of the log, as of a moment after the call began.
//   - It skips trimmed entries through the snapshot that replaces them.
//
// # What is not guaranteed
//
// The cluster may have decided more since. A rewritten log is not noticed.
//
// # Failures
//
// The error is that of the store, a *cluster.FormatError for a log that a newer Rota has written, or reports that a snapshot is missing.
//
// # Where it comes from
//
// It was a part of package replica.
package fold

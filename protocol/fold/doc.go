// Package fold reads the log of a place from outside: to its newest value, or entry by entry.
//
// # Purpose
//
// Commands that look, clients and screens read what members have agreed on, without taking part. It is the same for all protocols that keep a log.
//
// # State
//
// None: the caller keeps the value, and gives it back to go on from.
//
// # Guarantees
//
//   - It writes nothing.
//   - What it returns is the value at the head of the log, as of a moment after the call began.
//   - Entries that were trimmed are skipped by the snapshot that stands for them.
//
// # What is not guaranteed
//
// That nothing was decided since. A log that was rewritten is not noticed.
//
// # Failures
//
// The error is that of the store, a *cluster.FormatError of a log that a newer Rota has written, or says that a snapshot is missing.
//
// # Where it comes from
//
// It was a part of package replica.
package fold

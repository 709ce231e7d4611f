// Package logdocs makes versioned documents out of an ordered log: the mirror of package engine/log.
//
// # Purpose
//
// Some stores order records, but have no documents and no conditional writes. [New] keeps documents in any store.Log, so that users of documents
// (locks, positions, the journal, heartbeats) run on them too. It is not specific to a vendor.
//
// # State
//
// Each record of the log is an operation: put a document if its version is this one, delete it likewise, or a mark that changes nothing. The documents are
// the result of all operations in order. A document's version is the index of the put that wrote it, so no version is reused. A snapshot contains all documents
// at an index. The log must not be used for anything else; records that are not operations are skipped and counted.
//
// # Why it is right
//
// The outcome of an operation is decided at its place in the log, by the documents at that place: every handle decides the same, because all apply the same
// records in the same order. A put returns that decision, not what its author believed when it was sent.
//
// Get first reads to the end of the log. A write that was acknowledged before Get began was appended before, so Get sees it. If a replaced leader may report
// an old end of the log ([Options.Confirm]), Get appends a mark and reads up to it: the mark comes after everything acknowledged before.
//
// An operation that is in the log twice does nothing the second time: the version that it expects is gone.
//
// A new handle, or one that is behind the trimmed index, starts with a snapshot. It cannot see the outcome of its own operation that the snapshot contains,
// and returns store.ErrUnknown. This is rare: the last [Options.SnapshotEvery] records before a snapshot are kept.
//
// # Guarantees
//
// All of store.Docs and store.Watcher, on any log that keeps its contract. Any process may die at any time.
//
// # What is not guaranteed
//
// Size. Every handle holds all documents in memory and reads every operation. There are no sessions: a dead owner is detected by its heartbeat, a document that is
// no longer written, as on every store without sessions.
//
// # Failures
//
// An error of the log is returned with the outcome that it proves for the call. An append with an unknown outcome is looked up in the log; if it is there,
// the call returns what was decided.
//
// # Where it comes from
//
// This is state machine replication; key-value stores on Kafka, such as its own schema registry, fold a topic in the same way.
package logdocs

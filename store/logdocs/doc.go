// Package logdocs makes versioned documents out of an ordered log: the mirror of package doclog.
//
// # Purpose
//
// Some stores order records, but have no documents and no conditional writes. [New] keeps documents in a log of any store.Log, so that what needs documents
// (locks, positions, the journal, heartbeats) runs on them too. Nothing of it is special to a vendor.
//
// # State
//
// Each record of the log is an operation: put a document if its version is this one, delete it likewise, or a mark that changes nothing. The documents are
// what the operations make, one after the other. A document's version is the index of the put that wrote it, so no version comes back. A snapshot is all documents
// at an index. The log must not be used for anything else; records that are no operations are skipped, and counted.
//
// # Why it is right
//
// The outcome of an operation is decided at its place in the log, by the documents as they are there: by every handle alike, since all apply the same
// records in the same order. A put returns what was decided there, not what its author believed when it was sent.
//
// Get reads to the end of the log first. What was acknowledged before Get began was appended before, so Get sees it. Where a log's end may be one that a
// leader remembers who was replaced ([Options.Confirm]), Get appends a mark, and reads up to it: the mark is behind all that was acknowledged before.
//
// An operation that stands in the log twice does nothing the second time: the version that it expects has gone.
//
// A handle that comes late, or lags behind what was trimmed, begins with a snapshot. What became of an operation of its own that the snapshot contains,
// it cannot see, and says store.ErrUnknown. That is rare: the last [Options.SnapshotEvery] records before a snapshot are kept.
//
// # Guarantees
//
// All of store.Docs and store.Watcher, on any log that keeps its contract. Any process may die at any time.
//
// # What is not guaranteed
//
// Size. Every handle holds all documents in memory and reads every operation. There are no sessions: who dies is noticed by a heartbeat, a document that is
// no longer written, as on every store without sessions.
//
// # Failures
//
// An error of the log is passed on with the outcome that it proves for the call. An append whose outcome is unknown is looked for in the log; if it is there,
// the call returns what was decided.
//
// # Where it comes from
//
// It is how a state machine is replicated; key-value stores on Kafka, such as its own registry of schemas, fold a topic in the same way.
package logdocs

// Package journal keeps what happened to tasks, for people: append-only, not consulted by any decision.
//
// # Purpose
//
// [Docs] keeps records in the cluster's own store, [Memory] in the process, and [Buffered] stands in front of either so that nobody who
// reports has to wait for a store.
//
// # Guarantees
//
// A record whose Append returned nil is read by every later Read that asks for its time, until it is older than the retention. What could not
// be kept is counted. One document that cannot be decoded does not hide the others: it is shown as a record of its own.
//
// # What is not guaranteed
//
// Records are ordered by the clocks of those who reported them. A record may stand twice after an unknown outcome. Whoever prunes goes by its
// own clock. A read of the last hours looks one hour ahead of the reader's clock, not further: records of a member whose clock is further
// ahead are seen by reads of longer times only.
//
// # Failures
//
// The store's errors, wrapped. Buffered tries again, with growing pauses, until the store answers or its process ends.
//
// # Where it comes from
//
// The source document coalesce, "Storage": its log entries with timestamp, task, type and data.
package journal

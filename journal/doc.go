// Package journal records what happened to tasks, for people. It is append-only, and no decision depends on it.
//
// # Purpose
//
// [Docs] keeps records in the cluster's own store, [Memory] in the process. [File] appends them to a file, for other
// programs. [Buffered] buffers records for either, so that callers do not wait for a store.
//
// # Guarantees
//
// A record whose Append returned nil is returned by every later Read of its time, until it is older than the retention.
// Lost records are counted. A document that cannot be decoded does not hide the others: it is returned as a separate
// record.
//
// # What is not guaranteed
//
// Records are ordered by the clocks of their writers. A record may be duplicated after an unknown outcome. A member
// that prunes uses its own clock. A read of the last hours includes one hour after the reader's time, not more: records
// of a member whose clock is further ahead are found only by reads of longer times.
//
// # Failures
//
// The store's errors, wrapped. Buffered retries, with growing pauses, until the store answers or its process ends.
//
// # Where it comes from
//
// The source document coalesce, "Storage": its log entries with timestamp, task, type and data.
package journal

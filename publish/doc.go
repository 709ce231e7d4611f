// Package publish sends samples to a sink.
//
// # Purpose
//
// A [Publisher] connects the tasks of a member to one sink. This package holds the contract, the [Sample] and the
// publishers that need only an io.Writer: [NewWriter] (standard output), [NewFile] and [Fanout], which joins several.
// [NewBatcher] makes a publisher of a [Sink] on a server: see the packages below this one.
//
// # Guarantees
//
// Publish never blocks. Samples of one publisher are written in the order in which they were queued, one JSON object
// per line, never a part of a line unless the process or the disk dies in the middle of it. A sample is counted exactly
// once: it is queued, sent or dropped.
//
// # What is not guaranteed
//
// Delivery is at least once to the operating system, not to the disk: nothing is synced. Samples that do not fit into
// the queue are lost and counted; the newest are dropped, to keep the history in the queue.
//
// # Failures
//
// What a [Sink] says may succeed later is sent again, with back-off and chance; what it refuses is dropped and counted.
//
// A full disk or quota and a sink that would block are retried with back-off, from the exact byte where the write
// stopped. Any other error ends Run, [ErrReaderGone] if the reader of a pipe has closed it; later samples are dropped
// and counted.
//
// # Where it comes from
//
// The data structure of a sample is that of the source document coalesce.
package publish

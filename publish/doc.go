// Package publish takes samples to where people look at them.
//
// # Purpose
//
// A [Publisher] stands between the tasks of a member and one sink. This package holds the contract, the [Sample] and the
// publishers that need nothing but an io.Writer: [NewWriter] (standard output), [NewFile] and [Fanout], which joins several.
//
// # Guarantees
//
// Publish never blocks. Samples of one publisher are written in the order in which they were queued, one JSON object per line,
// never a part of a line unless the process or the disk dies in the middle of it. A sample is counted exactly once: it is queued,
// sent or dropped.
//
// # What is not guaranteed
//
// Delivery is at least once to the operating system, not to the disk: nothing is synced. Samples that do not fit into the
// queue are lost and counted; the newest lose, because what is queued already has the longer story.
//
// # Failures
//
// A full disk or quota and a sink that would block are tried again with back-off, from the exact byte where the write stopped. Everything
// else ends Run with an error, [ErrReaderGone] when the reader of a pipe went away; later samples are dropped and counted.
//
// # Where it comes from
//
// The data structure of a sample is that of the source document coalesce.
package publish

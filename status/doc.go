// Package status holds small named values that one reports and others read: the progress of a job, the newest result of a check.
//
// # Purpose
//
// A report carries the token under which its writer works (of a grant, a lock, an attempt), so a writer that has been replaced can't overwrite what its
// successor says. Readers get the newest value, or follow it.
//
// # State
//
// One document for each name, status/NAME/value: {token, seq, write, value}.
//
// # Guarantees
//
// A report under a smaller token than the largest that was seen is refused with [ErrStale], also when it comes late. Reports under one token replace each
// other in the order in which they were acknowledged. Seq grows by one with each report, so a reader sees how many it has missed. A report whose outcome
// the store does not know is looked up.
//
// # What is not guaranteed
//
// A status is the newest value, not a history: who follows may miss values in between, never the last one. Two writers with one token overwrite each other.
//
// # Failures
//
// While the store is away reports and reads fail; following goes on when it is back. A report whose context ends before its outcome is known returns
// store.ErrUnknown: it may still appear, until another report is acknowledged.
package status

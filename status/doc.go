// Package status holds small named values that one reports and others read: the progress of a job, the newest result of
// a check.
//
// # Purpose
//
// A report carries the token under which its writer works (of a grant, a lock, an attempt), so a replaced writer can't
// overwrite the report of its successor. Readers get the newest value, or follow it.
//
// # State
//
// One document for each name, status/NAME/value: {token, seq, write, value}.
//
// # Guarantees
//
// A report under a smaller token than the largest one seen is refused with [ErrStale], however late it arrives. Reports
// under one token replace each other in the order in which they were acknowledged. Seq grows by one with each report,
// so a reader knows how many it missed. A report with an unknown outcome is looked up.
//
// # What is not guaranteed
//
// A status is the newest value, not a history: a follower may miss values in between, never the last one. Two writers
// with one token overwrite each other.
//
// # Failures
//
// While the store is unreachable, reports and reads fail; following continues when it is back. A report whose context
// ends before its outcome is known returns store.ErrUnknown: it may still appear, until another report is acknowledged.
package status

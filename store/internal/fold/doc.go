// Package fold makes versioned rows out of a journal.
//
// # Purpose
//
// Some stores order records, and have no rows and no conditional writes. [New] gives rows on any journal that keeps
// large values beside its records, so that the engine runs on them too. It is not specific to a vendor.
//
// # State
//
// Each record of the journal is an operation: put a row if its version is this one, delete it likewise, free a range of
// rows, or a mark that changes nothing. The rows are the result of all operations in order. A row's version is the
// index of the put that wrote it, so no version is reused. Records that are not operations are skipped and counted.
//
// # Why it is right
//
// The outcome of an operation is decided at its place in the journal, by the rows at that place: every handle decides
// the same, because all apply the same records in the same order. A swap returns that decision. An operation that
// stands directly behind what its handle has read is applied as it is: nothing lies between.
//
// A read first reads to the end of the journal. A write that was acknowledged before was appended before, so it is
// seen. If a replaced leader may report an old end ([Options].Confirm), a mark is appended before: no read of this
// handle believes an end in front of it.
//
// Snapshots are those of a log of the engine: values of the journal that together hold all rows as they were at an
// index, and a row that names them. The engine frees the values before, and the records up to some way before the
// index, when that row is written. So the newest snapshot is always there, with the record of its row and all records
// behind its index. A handle that finds the beginning of the journal gone looks through the rest for the newest such
// record whose values are there: also one that was refused at its place names what the rows were.
//
// A handle that begins with a snapshot cannot see the outcome of its own operation that lies before, and returns
// store.ErrUnknown. This is rare: the last [Options].SaveEvery records before a snapshot are kept.
//
// # Guarantees
//
// Those of driver.Documents, on any journal that keeps its promises. Any process may die at any time.
//
// # What is not guaranteed
//
// Size. Every handle holds all rows in memory and reads every operation.
//
// # Failures
//
// An error of the journal is returned with the outcome that it proves for the call.
//
// # Where it comes from
//
// This is state machine replication; key-value stores on Kafka, such as its own schema registry, fold a topic in the
// same way.
package fold

// Package appends measures appends through our log beside the same writes by the bare client of the store.
//
// # How
//
// Both write records of 200 bytes to one fresh server, through a connection of their own, in turns: some writes of ours, as many of the bare
// client, then the other way round, so that what else the machine does hits both. The first turn of each does not count. A ratio is the bare client's
// median turn divided by ours: 1 is as fast, less is slower. Times of single calls are told beside it, their median and the slowest of a hundred.
//
// # What is compared
//
//   - write: Log.Append; the bare client puts a new key (etcd), publishes a message and waits for its acknowledgement (NATS), creates a node
//     (ZooKeeper), creates a document (Elasticsearch), inserts a row with the same settings (SQLite). It has no head to keep, no order that others can read without a list of all names, and
//     no way to tell what a lost answer did: the ratio is the one least in our favour.
//   - batch: 64 callers append at once, as the members of a busy process do; the bare client puts 64 records into one request (or messages, without waiting
//     for each).
//   - applied: a command proposed to a member that is joined, until it stands in the member's value; the bare client writes and reads back what it wrote.
package appends

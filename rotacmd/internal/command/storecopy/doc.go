// Package storecopy copies a cluster from one store to another.
//
// # Purpose
//
// The value is what a cluster is; the log is only how its members agree on it. So the copy gets the value as a
// snapshot, at the same index of a log that begins behind it: tokens go on growing, and the first member that joins
// there finds everything as it was. Documents, such as positions and the journal, are copied one by one. Heartbeats are
// not: they belong to processes of the former store.
//
// # Order
//
// Documents come first and the snapshot last: while it is missing the target has no cluster, and the same copy can be
// started again.
//
// # What is not guaranteed
//
// Two clusters that run from one value give the same tokens: what is fenced by them can't tell the one from the other.
// Stop the members of the source before those of the copy start.
package storecopy

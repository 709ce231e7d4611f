// Package cluster holds the nouns of Rota and the value that all members agree on. Pure.
//
// # Purpose
//
// Value is the cluster: members, jobs, partitions, who owns what under which token. Value.Apply folds one entry of the log into it; Value.Reactions
// and Value.Duties derive from it what one member should watch, run and stop. Everything is computed from entries: there is no clock, no
// chance, no I/O, and no order of a map.
//
// # Guarantees
//
//   - Total: an unknown, stale, malformed or impossible command is a no-op whose Result says why. Apply never panics.
//   - Deterministic: equal entries give equal values, equal digests and equal snapshots, on every machine and with every binary of one format.
//   - A value is immutable; older ones stay valid and share what did not change.
//   - Duplicates by (writer, number) do nothing.
//   - A partition has at most one granted owner, and each new one has a larger token: the index of the entry that made it so.
//   - At most one plan per entry: bursts are as cheap as one change.
//
// # What is not guaranteed
//
// Hashes tell accidents apart, not malice. Wall-clock times in records are for people: nothing is decided by them.
//
// # Where it comes from
//
// The source document "The Cluster as a Value"; docs/decisions says where this differs and why.
package cluster

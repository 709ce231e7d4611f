// Package cluster holds the terms of Rota and the value that all members agree on. Pure.
//
// # Purpose
//
// Value is the cluster: members, jobs, partitions, who owns what under which token. Value.Apply folds one entry of the
// log into it; Value.Reactions and Value.Duties derive from it what one member should watch, run and stop. Everything
// is computed from entries, without a clock, randomness, I/O, or map order.
//
// # Guarantees
//
//   - Total: an unknown, stale, malformed or impossible command is a no-op whose Result gives the reason. Apply never
//     panics.
//   - Deterministic: equal entries give equal values, equal digests and equal snapshots, on every machine and with
//     every binary of one format.
//   - A value is immutable; older ones stay valid and share what did not change.
//   - Duplicates by (writer, number) do nothing.
//   - A partition has at most one granted owner, and each new one has a larger token: the index of the entry that
//     granted it.
//   - At most one plan per entry: bursts are as cheap as one change.
//   - A slot runs at most one partition of spread pool. It is given to another task after its owner has reported that
//     it stopped (at once if the task hands over fast), and counts in the shares meanwhile.
//   - A task of spread pool is complete when one of its slots has reported it; the set of finished tasks decides, never
//     a count. Its slots go to the next tasks. Kill stops all of a job and nothing else. A task that fails too often in
//     one slot fails its job.
//
// # What is not guaranteed
//
// While slots move, a job with required coverage runs with only some of them. Slots of a member are not held for its
// restart. An edge orders tasks and does not delay them.
//
// Hashes detect accidents, not malice. Wall-clock times in records are for people and decide nothing.
//
// # Where it comes from
//
// The source document "The Cluster as a Value"; docs/decisions lists the differences and their reasons.
package cluster

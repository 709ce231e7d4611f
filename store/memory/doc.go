// Package memory is a store in the memory of one process.
//
// # Purpose
//
// It is the store of a cluster within one process: `rota run` without a store, the tests of a library user, and every
// test of this project. It is production code, not a mock: it has all contracts of package store and passes their
// suites.
//
// A [Server] is the shared state; each [Server.Open] returns another handle on it, like that of another process. The
// engine does the work, over the map of package drivermap. The group alone is made here.
//
// # Guarantees
//
// All calls are linearizable; appends are ordered by the one lock. Only calls of a group block, so a deadline matters
// to other calls only if it has passed before the call. Only an abandoned call of a group, or of a queue, has an
// unknown outcome.
//
// Leases of messages are counted by each handle, from when it has read of them. A handle that nobody closes costs
// memory alone: only a watch has a goroutine, until its ctx ends.
//
// # What is not guaranteed
//
// Nothing outlives the process. Nothing is bounded except the size of one record, and of a snapshot.
//
// # Failures
//
// To others, a closed handle looks exactly like a dead process: its sessions end, their documents vanish and watchers
// get a hint; a member of the group is silent from then on. A test that needs a crash closes the handle under the
// running member.
package memory

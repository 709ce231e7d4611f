// Package memory is a store in the memory of one process.
//
// # Purpose
//
// It is the store of a cluster that lives in one process: `rota run` without a store, a library user's tests, every test of
// this project. It is production code, not a mock: it has all contracts of package store and passes their suites.
//
// A [Server] is the shared state; each [Server.Open] gives one more handle on it, as one more process would have one.
//
// # Guarantees
//
// All calls are linearizable; the order of appends is the order in which they took the one lock. No call but those of a
// group blocks, so a deadline matters only if it has passed before the call. There are no unknown outcomes but those of a call of a group that is given up.
//
// Leases of messages are counted by the process's clock.
//
// # What is not guaranteed
//
// Nothing outlives the process. Nothing is bounded but the size of one record.
//
// # Failures
//
// To others, a handle that is closed looks exactly like a process that died: its sessions end, their documents vanish and
// watchers get a hint; a member of the group is silent from then on. A test that wants a crash closes the handle under the running member.
package memory

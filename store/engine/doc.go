// Package engine makes what package store promises out of a driver, once for all stores.
//
// # Purpose
//
// [Rows] writes rows and settles what became of a write whose answer was lost. [Docs] are the documents of package
// store on them, [Sessions] the sessions where a store has leases or vigils, and [Rows.Hints] begins broken watches
// again. The log is in package engine/log, and package engine/full puts all together. etcd, Elasticsearch, ZooKeeper,
// NATS, PostgreSQL and the directory are on it.
//
// # State
//
//	d/<key>   a document, or the tombstone of one
//	l/<log>/  a log; see package engine/log
//
// # Settling
//
// Each write has a name that nobody else gives, which the driver stores beside the value. A swap with a version is done
// at most once, however often it is sent, because versions never come back; so it is sent again when its answer was
// lost. If it is refused then, the row tells by its name whether it was ours. A create is not sent again: it could be
// done, removed by another, and done again. A create of a row that is written once is.
//
// # Tombstones
//
// A tombstone holds the name of the delete, for the caller whose answer was lost, and refuses creates that come late.
// [Docs.End] puts one also where nothing stands, so that nothing of a life that has ended comes later. A [Sweeper]
// frees tombstones that it has seen unchanged for ten minutes by its own clock, longer than any call takes and any
// request is on its way. It compares versions. This is the only place where the engine relies on time.
//
// A store with leases needs no tombstones: it ends lives by itself, and refuses what they send later. Nor does one
// without sessions, on which nobody ends the life of another ([Docs.Untombed]). So a delete removes the row there,
// which a full server still takes. Its price is that a delete whose answer was lost is never settled.
//
// # Sessions
//
// The owner of a session judges its end by its own clock: it lasts for the ttl of its lease from when the last renewal
// was sent that was acknowledged. A session that has ended by that clock stays so, whatever the store says later. A Put
// renews first, and writes after the answer; where a lease is its rows, the write renews them. Where a store sees the
// end of a process ([driver.Vigils]), a session knows no time, and its renewals are heartbeats that wake nobody.
//
// # Others
//
// A row without a name was written by another program. It is a document with its bytes: who reads it refuses it, and
// the others of its list are read.
//
// # Guarantees
//
// An error of a call proves what package store says it proves, as long as the driver keeps its own promises. The tests
// walk all interleavings of the requests of a few callers, with every outcome of every request, and crashes between
// them.
//
// # What is not guaranteed
//
// That doubt is always settled. A document that was replaced after a lost answer does not tell whose write it was
// before: that is store.ErrUnknown.
//
// # Failures
//
// Errors of the driver are returned with the outcome that they prove for the call.
package engine

// Package logqueue makes queues of flows out of ordered logs: one log for each flow.
//
// # Purpose
//
// Some stores order records, and have neither queues with leases nor conditional writes. [New] keeps the edges of flows
// in logs of any kind that implements [Journals], so that flows run on them too. Nothing of it is special to a vendor:
// package store/engine/full uses it.
//
// # State
//
// Each record of a flow's log is an operation: make the flow with these shards, drop it, take messages, keep or return
// them, commit units. The queue is what the operations make, one after the other. A record carries no segments, unless
// there are few bytes of them: these are stored first, or with it, those of one commit and shard as one bundle, and the
// operation names the place. An operation that stands directly behind what its handle has read is applied as it is. So
// a handle holds in memory where the messages are, and not what is in them.
//
// # Why it is right
//
// The outcome of an operation is decided at its place in the log, by every handle alike. The first commit of a unit is
// a fact, and a later one finds that. One record is stored as a whole or not at all: outputs, acknowledged inputs and
// seals of a unit are one record.
//
// A message is taken by its number and by how often it was delivered: of two who take the same delivery the first in
// the log has it. No clock is in the log. That a lease has ended each handle finds out by its own clock, from when it
// read the record that began it, which is not before its holder sent it. Then it takes the next delivery of the
// message. A handle that begins at a snapshot counts the leases in it from then.
//
// A read that does not see the newest records makes a shard look less far than it is, never further: that a shard is
// sealed, and that a message is acknowledged, never changes back.
//
// # Guarantees
//
// All of store.Queue, units of several inputs included: messages are taken by their numbers, so one reader gets their
// order.
//
// # What is not guaranteed
//
// Size. A handle reads every operation of the flows that it works for, and keeps some hundred bytes for each message
// that waits. A log that is no [Keeper] is kept until its flow is dropped. In others the author of each thousandth
// operation saves a snapshot of the state and trims what is a thousand older, and who acknowledges the last message of
// a bundle frees it, sixteen together. A handle keeps 8 MiB of bundles.
//
// # Failures
//
// An error of the log is passed on. An append whose outcome is unknown is store.ErrUnknown; who commits the unit again
// finds out. What was stored for a unit that came to nothing, or was not freed because its reader died, stays until the
// flow is dropped, and nobody reads it.
//
// # Where it comes from
//
// It is package fold for queues. That data go first and the record of them after is how log-structured stores write.
package logqueue

// Package nats is a store in a NATS server, or a cluster of them, with JetStream: 2.12.3 or later.
//
// # Purpose
//
// It is the store of `rota run --store nats://host:4222/rota`, for those who run NATS already. It has all contracts of package store: documents,
// log, watches and sessions.
//
// # State
//
//	stream KV_<bucket>            a key-value bucket with a history of one; `nats kv` shows it
//	  $KV.<bucket>.doc.<key>        a document; the message's sequence is its version
//	  $KV.<bucket>.snapshot         which snapshot counts, and the checksum of its data
//	  $KV.<bucket>.chunk.<id>.<n>   a piece of a snapshot
//	  $KV.<bucket>.check            written by reads that want the cluster's confirmation
//	  $KV.<bucket>.format           "rota 1"
//	stream ROTA_<bucket>_q_<flow>            records of a flow's commits, and what its shards are
//	stream ROTA_<bucket>_q_<flow>_<edge>_<n> a shard of a flow, with a consumer "workers"
//	stream ROTA_<bucket>_log      the log; the message's sequence is its index
//	  rota.<bucket>.log
//
// A segment of a key becomes a token of a subject; the bytes . # @ : and = are written as "=" and two hexadecimal digits.
//
// # Guarantees
//
// Each change is one message that names the sequence which it expects, so it is done as a whole or not at all. A message is sent once, on a
// open connection: the client's habit of keeping messages for the next connection is switched off, and so are its retries. What was
// acknowledged has been stored by the stream's leader and, where there are replicas, by most of them.
//
// Where there are replicas, a leader that was replaced may not have noticed: cut off, it takes up to twenty seconds; frozen and thawed, some
// milliseconds. It gets each request as the new one does, and may answer first. So Get also writes a small message that the cluster stores only if what
// was read is still the newest; and a write that is refused is looked for, by a name of its own, before store.ErrConflict is returned. A log's head is
// read at its leader; a head that is older than what this handle has seen is store.ErrUnavailable for thirty seconds, and believed after that. Records
// before the head, which cannot change, come from any replica that has them.
//
// A snapshot is cut into chunks of the size of a message, which are written before the one message that points to them and carries their checksum.
// Chunks that no pointer names are never read, and go with the next snapshot.
//
// A session's documents have a time to live on the server, rounded up to whole seconds, which begins again with each write; a session needs no
// connection and no process. Put writes all documents of its session. Where the user is silent for half of the ttl, a goroutine repeats the
// last writes; a repeated document keeps its version, which is then in the message's header. A session ends, and Done is closed, ttl after the
// beginning of the last round of writes that was acknowledged: no later than a document can vanish.
//
// A flow's messages are written create-only under the name of their unit, in the order of flow.Commit; all streams of a flow keep everything until it is
// dropped. A handle tells the server every five seconds that it has a message; of a process that died others get it fifteen seconds later.
//
// # What is not guaranteed
//
// A flow has units of one input each; Depth counts messages, not segments.
//
// By default a NATS server writes to the disk every two minutes, and acknowledges before. What was acknowledged then survives the end of the
// server's process, but not that of its machine. Configure every server with
//
//	jetstream { sync_interval: always }
//
// A client cannot see whether that was done. A log that lost its end is noticed by the members, whose entries carry a hash of what was before.
//
// A log's head is not confirmed: in a cluster, a new handle on the side of a leader that is cut off reads an old log for as long as twenty seconds. It
// cannot append meanwhile, nor renew a session. List is answered by any replica, and so may lag. An observer, which may
// not write, has Get without confirmation.
//
// The time to live of a document is counted by the clock of the stream's leader. With replicas it is a second longer than asked for, so that a new
// leader's clock may be a second ahead of the old one's; keep the servers' clocks together. A lone server's clock that is set forward ends sessions
// early. Apart from that documents go some milliseconds late (longer on a busy server, or where it was started again meanwhile), never early.
//
// A process that is suspended for longer than ttl on a machine that was suspended with it does not see that time in Done, since Go's clock stops
// as well; the server's clock does not, and its next Put is refused.
//
// # Failures
//
// Nobody serves a stream (no leader, JetStream is off), the connection is not there, the server refuses: store.ErrUnavailable, nothing was changed.
// The connection broke, the ctx or Options.Timeout ended, or the leader could not store a message after others may have: store.ErrUnknown. Such a
// change can still happen later, as long as the message is on its way to the leader. Nothing is ever sent again for the caller.
//
// Records and documents are at most as large as the server's max_payload (1 MiB by default), less 1 KiB for headers: store.ErrTooLarge, before they
// are sent. Streams refuse when they are full and forget nothing by themselves: give them and the account room. A record or a chunk that is missing
// below the head is [ErrDamaged]. Removing the streams removes the store; a new log counts from 1.
//
// # Where it comes from
//
// Messages with an expected last sequence of their subject are how NATS itself builds key-value buckets; times to live of single messages and the
// markers they leave came with 2.11 (ADR-43 in github.com/nats-io/nats-architecture-and-design). What unsynced servers lose was shown by
// Jepsen's analysis of NATS 2.12.1; the version that is asked for is the first with the repairs.
package nats

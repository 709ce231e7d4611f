// Package nats is a store in a NATS server, or a cluster of them, with JetStream: 2.12.3 or later.
//
// # Purpose
//
// It is the store of `rota run --store nats://host:4222/rota`, for users of NATS. It is a driver of package driver,
// whose logs are journals: package engine makes documents, log, watches, sessions and queues of it.
//
// # State
//
//	stream KV_<bucket>            a key-value bucket with a history of one; `nats kv` shows it
//	  $KV.<bucket>.d.<key>          a document; the message's sequence is its version
//	  $KV.<bucket>.l.main.snap      the current snapshot, and the checksum of its data
//	  $KV.<bucket>.l.main.s.<id>.<n>  a part of a snapshot
//	  $KV.<bucket>.check            written by reads to have them confirmed by the cluster
//	  $KV.<bucket>.format           "rota 3"; a store with another number is not opened
//	  $KV.<bucket>.q.q-<flow>.<id>    data of a flow, some messages in one
//	stream ROTA_<bucket>_log      the log; the message's sequence is its index
//	  rota.<bucket>.log
//	stream ROTA_<bucket>_q-<flow> the log of a flow, whose name is hashed
//	  rota.<bucket>.q-<flow>
//
// A segment of a key becomes a token of a subject; the bytes . # @ : and = are written as "=" and two hexadecimal
// digits. A document begins with the letter v. The name of a write is in a header.
//
// # Guarantees
//
// Each change is one message that names the sequence which it expects, so it is done as a whole or not at all. The
// driver sends a message once, on an open connection: the client's buffering of messages for the next connection is
// switched off, and so are its retries. An acknowledged message has been stored by the stream's leader and, with
// replicas, by most of them. A write whose answer was lost is looked for by its name; see package engine. An append
// and a delete have none, and stay unknown.
//
// With replicas, a replaced leader may not have noticed yet: cut off, it takes up to twenty seconds; frozen and
// resumed, some milliseconds. It gets each request as the new one does, and may answer first. So a read also writes a
// small message that the cluster stores only if the result of the read is still the newest, unless that is a part of
// a snapshot, which never changes; and a refused write is looked up before it counts as refused. A log's head is read
// at its leader; a head older than one that this handle has seen is store.ErrUnavailable for thirty seconds, and
// accepted after that. Records before the head, which cannot change, come from any replica that has them.
//
// A session's documents have a time to live on the server, rounded up to whole seconds, which starts again with each
// write; a session needs no connection and no process. Put writes all documents of its session. If the user is silent
// for half of the ttl, the last writes are repeated; a repeated document keeps its version, which is then in the
// message's header. A session ends, and Done is closed, ttl after the start of the last acknowledged round of writes:
// no later than a document can vanish.
//
// # What is not guaranteed
//
// By default a NATS server syncs its disk every two minutes, and acknowledges before. Acknowledged writes then
// survive the end of the server's process, but not that of its machine. Configure every server with
//
//	jetstream { sync_interval: always }
//
// A client cannot read this setting. Members detect a log that lost its end, because entries carry a hash of the
// previous ones.
//
// A log's head is not confirmed: in a cluster, a new handle on the side of a leader that is cut off reads an old log
// for up to twenty seconds. It can neither append nor renew a session meanwhile. Any replica answers List, so it may
// be stale. An observer, which may not write, has Get without confirmation.
//
// SeedLog looks and then purges: a record that is appended between the two is lost. Only who moves a cluster calls
// it, before members run.
//
// The clock of the stream's leader counts the time to live of a document. With replicas it is a second longer than
// requested, so that a new leader's clock may be a second ahead of the old one's; keep the servers' clocks
// synchronized. If the clock of a single server is set forward, sessions end early. Otherwise documents vanish some
// milliseconds late (more on a busy or restarted server), never early. EndSession removes them at once.
//
// A process that is suspended for longer than ttl together with its machine does not see that time in Done, because
// Go's clock stops too; the server's clock does not, and the next Put is refused.
//
// # Failures
//
// If no server serves a stream (no leader, JetStream is off), the connection is missing, or the server refuses:
// store.ErrUnavailable, nothing was changed. If the connection broke, the ctx or Options.Timeout ended, or the leader
// could not store a message that others may have stored: store.ErrUnknown. Such a change can still happen later, as
// long as the message is on its way to the leader.
//
// Records and documents are limited to the server's max_payload (1 MiB by default), less 1 KiB for headers:
// store.ErrTooLarge, before they are sent. Full streams refuse writes and lose nothing: give them and the account
// room. A missing record below the head is [ErrDamaged]. Removing the streams removes the store; a new log counts
// from 1.
//
// # Where it comes from
//
// Messages with an expected last sequence of their subject are how NATS itself builds key-value buckets; times to
// live of single messages and their markers came with 2.11 (ADR-43 in
// github.com/nats-io/nats-architecture-and-design). Jepsen's analysis of NATS 2.12.1 showed what unsynced servers
// lose; the required version is the first one with the repairs.
package nats

// Package postgres is a store in one schema of a PostgreSQL database, 12 or newer.
//
// # Purpose
//
// It is the store of `rota run --store postgres://rota@db:5432/app?schema=rota`: for users of a database who need a
// cluster on several machines. It is a driver of package engine: rows, a journal, vigils, and what is known of servers
// and poolers. Documents, snapshots and sessions are made of these there.
//
// # State
//
//	format    "rota", 2; a store with another number is not opened
//	rows      those of package engine: documents, and parts of snapshots; a version is 15 random bytes
//	log       a row for each record; indexes begin at 1 and have no gaps
//	head      one row: the index of the newest record, and where the log was begun
//	sessions  a row for each session, with the number of its handle; its rows refer to it, and are deleted with it
//	ties      unlogged: the handles whose lock proves that their process is alive
//
// The first process creates the tables, under a lock, so that two concurrent starts do not collide.
//
// # Guarantees
//
// Each change is one statement, and so one transaction, which the server ends without further input from the client: a
// suspended process never blocks others. Acknowledged writes are on the server's disk, and on its synchronous standbys,
// if any. Only the primary answers reads, from one snapshot of the database that is as new as the call. A list is from
// one instant.
//
// An append locks the row of the head, takes the next indexes and writes the records; the lock is held until the commit
// is visible. So records become visible in the order of their indexes, unlike the numbers of a sequence, and who waits
// for the lock loses nothing. Concurrent records of one handle share a transaction of up to 512 records.
//
// A version is never reused, even after the promotion of a standby that lacks the last changes, because it is not a
// number that the server counts. A log that ends before what this handle has seen is refused for half a minute, and
// then believed: it may be that of a primary that was replaced, or the standby lacks records.
//
// Records are freed from the oldest on, at most 2,000 with one statement, followed by a vacuum where there were many.
//
// Watches listen on one connection of the handle (LISTEN), and each change but heartbeats and parts of snapshots
// commits with its notification (NOTIFY). A connection that breaks, or on which the server is silent, is made again,
// and then all watches get a hint.
//
// # Sessions
//
// A suspended process keeps its sessions, and heartbeats detect it. The *end* of a process is detected at once if it
// can be proven. The connection that listens holds an advisory lock for the handle. When a process ends, for whatever
// reason, its kernel closes the connection, the server's process for it ends, and the lock is released. Handles form a
// ring: each waits, on its own connection, for the lock of the previous one. A handle that gets the lock waits for 150
// ms, and if the lock is still free and no process has withdrawn the proof, removes the sessions and their rows.
//
// The end of a connection proves the end of a process only if nothing else ends it:
//
//   - A handle is tied to its lock only if the server sees the very address and port that the process has: then there
//     is no pooler, proxy or address translation in between.
//   - A living process never closes that connection. If it is silent, the process first withdraws the proof through
//     another one.
//   - After a restart or crash of the server, earlier proofs are void: ties name the start of the server, and their
//     table is empty after a crash.
//   - A process whose connection was ended by an administrator reconnects, and withdraws the proof, within the 150 ms.
//   - Sessions of more than five minutes are not ended by it: a kernel may give a connection up sooner.
//
// Another process that knows that the owner is dead, a guardian, ends a session by its key. Sessions whose process ends
// otherwise, without closing them, are removed after a silence of four times their ttl, at least two minutes, by the
// clocks of others. Whatever ends a session removes its row: what its owner has sent before is refused then, because no
// row can refer to it.
//
// # What is not guaranteed
//
// A firewall that resets the server's side of a direct connection, or an administrator who ends it, *and* keeps the
// process from reconnecting, makes a living process look dead: its documents vanish while its lease is valid. Of Rota's
// promises, fencing tokens (G3) hold then, and exclusion in time (G2) does not.
//
// A promoted standby has only what it received: name it in synchronous_standby_names. A former primary that still
// accepts connections returns its own state: a failover must fence it.
//
// # Failures
//
// A change that the server has refused with an ERROR was rolled back. One that was never sent was not done. Anything
// else (a deadline, a broken connection, a server that ends the connection) is store.ErrUnknown. Serialization failures
// and deadlocks are retried, because they were rolled back. Reads are tried up to five times.
//
// A server that is a standby, read only, too old, full, or out of connections, and a pooler in transaction mode, each
// have their own error at Open. No error and no log contains the password.
//
// # Limits
//
// Documents and records: [MaxRecord]. Snapshots: [MaxSnapshot]. A handle has three connections unless
// [Options.Connections] says otherwise.
//
// # Where it comes from
//
// Transactions, row locks, advisory locks, LISTEN and NOTIFY are documented in PostgreSQL's manual. Queues in databases
// have found before that the numbers of a sequence become visible out of order.
package postgres

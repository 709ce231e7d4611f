// Package postgres is a store in one schema of a PostgreSQL database, 12 or newer.
//
// # Purpose
//
// It is the store of `rota run --store postgres://rota@db:5432/app?schema=rota`: for people who have a database, and want a cluster on many machines. It
// implements all contracts of package store: documents, log, watches and sessions.
//
// # State
//
//	format    "rota", 1; a store with a higher number is not opened
//	docs      a row for each document; its version is 15 random bytes
//	log       a row for each record; indexes begin at 1 and have no gaps
//	head      one row: the index of the newest record, where the log begins, and which snapshot is the newest
//	chunks    1 MiB of a snapshot each
//	sessions  a row for each session; its documents refer to it, and go with it
//	ties      not logged: whose lock proves that its process lives
//
// The first process makes the tables, under a lock, so that two that start at once do not get in each other's way.
//
// # Guarantees
//
// Each change is one statement, and so one transaction, which the server ends without a further word of the client: a process that is suspended never keeps
// others waiting. What was acknowledged is on the server's disk, and on its synchronous standbys where there are some. Get and Read are answered by the primary
// alone, from one snapshot of the database that is as new as the call: they are linearizable. List is of one instant.
//
// An append locks the row of the head, takes the next indexes and writes the records; the lock is held until the commit is visible. So records become visible
// in the order of their indexes, which those of a sequence do not. Records of one handle that wait at the same time share a transaction of up to 512 records
// or 1 MiB; a caller alone sends its record itself.
//
// A version never comes back, also after a standby that had not heard of the last changes was promoted, since it is no number that the server counts.
//
// A snapshot's chunks are written first; then one statement writes the last chunk and points at all of them, if there is still no newer snapshot. Trim removes
// at most 2,000 records with one statement, and asks for a vacuum when it has removed many.
//
// Watches listen on one connection of the handle (LISTEN), and each change but the renewal of a heartbeat commits with its notification (NOTIFY). A connection that breaks, or on which the server
// is silent, is made again, and then all watches get a hint.
//
// # Sessions
//
// SessionsExpire is false: a suspended process keeps its sessions, and heartbeats judge it. That a process has *ended* is seen at once where that can be
// proven. The connection that listens holds an advisory lock for each session. When a process ends, however it does, its kernel closes the connection, the
// server's process for it ends, and the lock is free. Handles with sessions are a ring: each waits, on a connection of its own, for the lock of the one
// before it. Who gets the lock waits for 150 ms, and if it is still free and nobody has taken the proof back, removes the session and its documents.
//
// The end of a connection proves the end of a process only if nothing else ends it:
//
//   - A session is tied to its lock only if the server sees the very address and port that the process has: then no pooler, proxy or translation of
//     addresses is in between.
//   - A living process never closes that connection. On one that is silent it takes the proof back through another one first.
//   - After the server was started again, or has crashed, no proof counts that was given before: ties name the start of the server, and their table is empty
//     after a crash.
//   - A process whose connection was ended by an administrator connects again, and takes the proof back, within the 150 ms.
//
// Sessions that are not tied, and whose process ends without closing them, are removed when they were silent for four times their ttl, at least two minutes, by the
// clocks of others.
//
// # What is not guaranteed
//
// A firewall that resets the server's side of a direct connection, or an administrator who ends it, *and* keeps the process from connecting again, makes a
// living process look dead: its documents vanish while it may trust itself. Of Rota's promises, fencing tokens (G3) hold then, and exclusion in time (G2) does not.
//
// A standby that is promoted has what it has heard of: name it in synchronous_standby_names. A former primary that still takes connections answers with what it
// has: whoever fails over must fence it.
//
// # Failures
//
// A change that the server has refused with an ERROR was undone. One that was never sent was not done. Anything else (a deadline, a broken connection, a server
// that ends the connection) is store.ErrUnknown; it is not made again. Serialization failures and deadlocks are made again, since they were undone. Calls that
// change nothing are made up to five times.
//
// A server that is a standby, read only, too old, full, or has no connection left, and a pooler in transaction mode, are each an error of its own at Open. No
// error and no log has the password.
//
// # Limits
//
// Documents and records: [MaxRecord]. Snapshots: [MaxSnapshot]. A handle has three connections unless [Options.Connections] says otherwise.
//
// # Where it comes from
//
// Transactions, row locks, advisory locks, LISTEN and NOTIFY are documented in PostgreSQL's manual. That a sequence's numbers become visible out of order is
// what queues in databases found out before.
package postgres

// Package zookeeper is a store on Apache ZooKeeper, 3.5 or newer.
//
// # Purpose
//
// It is the store of `rota run --store zookeeper://zk1:2181,zk2:2181,zk3:2181/rota`, for users of ZooKeeper. It is a
// driver of package driver: package engine makes documents, log, watches and sessions of it.
//
// # State
//
//	/rota                   "rota 2": the format; a store with another number is not opened
//	  rows/+d+pulse+m1/boot   the row d/pulse/m1/boot: its life, the name of the write, the value, with line feeds between
//	                          them. Folders are container nodes; the keys are those of package engine
//	  lives/<life>            empty; exists exactly as long as the row of that life
//
// # Guarantees
//
// Versions. ZooKeeper restarts the counter of a node when it is deleted and created again, and a conditional write
// cannot compare anything else. So each life of a row has a random name, which is in its version, and a node of that
// name in lives/. Both are created in one transaction and deleted in one; an ephemeral pair is deleted by the one
// that ends its session. A change is a transaction with two conditions: lives/<life> exists, and the row's counter is
// n. Rows that are written once need no life: a record of the log is one node.
//
// Writes are one transaction each, with all that goes with them; the first row of a folder costs another request.
//
// Reads. ZooKeeper reads from the server that the client is connected to, which may be stale. A read first makes it
// catch up, then reads on the same connection, in the order that was asked for, and starts again on another one;
// concurrent calls share the first part. A following server catches up by a sync. A single server does all in one
// order, so any request is enough. The leader answers a sync at once, and may for a moment lack what its followers
// have acknowledged; there, and if the role of the server is unknown, an empty transaction is made. After that,
// watched rows that have not changed are not read again. So a look is one or two requests. A list reads the names of
// all folders, of the rows in those that match, and then each row, 64 at a time, from one server without making it
// catch up.
//
// Leases. Each is a ZooKeeper session with a connection of its own, and its rows are ephemeral nodes. A server that
// grants less than ttl is refused. A session is never replaced by another one. Each answer renews it, and pings fill
// silences, so Renew sends nothing as a rule; see lease.go for what an answer proves.
//
// Watches. A spot is armed by the read of whoever follows a hint. If nobody reads, the handle does it a tenth of a
// second later, and sends another hint. Each folder and each row below a prefix costs one of ZooKeeper's watches.
//
// # What is not guaranteed
//
// A server that believes to be the leader answers a sync without asking the others. A leader that was cut off continues
// for up to syncLimit ticks (10 s by default): members that are cut off with it may read stale data for that long. They
// cannot change anything, so they cannot renew their sessions either. With QuorumReads each read waits for an empty
// transaction instead, which only a leader with a quorum can do.
//
// A lease's rows stay longer than ttl after the death of their owner: the servers round up to the next tick (2 s by
// default), restart the time when a new leader is elected, and grant no timeout under minSessionTimeout (2 ticks).
// EndSession removes them at once.
//
// A version is reused after 2^32 changes of one row.
//
// The server is asked for its role by the command srvr, at the address of the connection. If that is a load balancer,
// another server may answer: use QuorumReads there.
//
// # Failures
//
// The client library reconnects on its own and repeats nothing. A request that was not answered when the connection
// broke, or when ctx ended, is store.ErrUnknown to the driver, and package engine settles it where it can; one that
// was still in the queue, or waited for a connection, is not done. Without a connection calls wait, until their ctx
// ends or for Timeout; then store.ErrUnavailable, with the reason of the last attempt. Servers are tried in turn
// without a pause, then with pauses of 20 to 320 ms, then of a second.
//
// Rows that another program wrote are documents with that text, without a name; records: [ErrDamaged].
//
// # Servers
//
// Use three or five, with srvr in the 4lw.commands.whitelist (as by default; without it each read is a transaction).
// Set tickTime so that 2 ticks are at most the members' ttl and 20 ticks (or maxSessionTimeout) at least that;
// maxClientCnxns (60 for each client address by default) above twice the members of one machine;
// autopurge.purgeInterval, or the disk fills. jute.maxbuffer must not be lower than 1 MB. With forceSync=no,
// acknowledged writes can be lost.
//
// # Limits
//
// Documents and records: [MaxRecord]. Snapshots: [MaxSnapshot]. Records of more than 6 kB are nodes of their own, which
// cost a request more.
//
// # Where it comes from
//
// ZooKeeper's Programmer's Guide (consistency, sessions, watches) and its recipes. Records have names of their own
// instead of sequential nodes, whose counter has 31 bits (ZOOKEEPER-2944), and which can only be found by listing all
// names.
package zookeeper

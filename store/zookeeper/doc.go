// Package zookeeper is a store on Apache ZooKeeper, shared by any number of members on any number of machines.
//
// # Purpose
//
// It is the store of `rota run --store zookeeper://zk1:2181,zk2:2181,zk3:2181/rota`, for users of ZooKeeper (3.5 or newer). It has these
// contracts of package store: documents, log, watches, and sessions that expire.
//
// # State
//
//	/rota                     "rota 1": the format
//	  docs/+heartbeat+m1/boot     a document of key pulse/m1/boot: its life, a line feed, the value. Folders are container nodes
//	  lives/<life>            empty; exists exactly as long as the document of that life
//	  log                     "head trimmed freed": three indexes
//	    00000000000000000017  a record: the random name of its batch, and the bytes
//	  snap                    which snapshot counts: index, name, parts, bytes, CRC-32C
//	    <index>-<name>-<part> a part of a snapshot, 768 kB
//
// # Guarantees
//
// Versions. ZooKeeper restarts the counter of a node when it is deleted and created again, and a conditional write cannot compare anything
// else. So each life of a document has a random name, which is in its version, and a node of that name in lives/. Both nodes are created in one
// transaction and deleted in one; an ephemeral pair is deleted by the one that ends its session. A change is a transaction with two conditions: lives/<name> exists, and the
// document's counter is n. Both hold only for that life and that version. A document costs two nodes.
//
// Documents. Put and Delete are one transaction each; the first document of a folder costs another request, for the folder. List reads the names of all
// folders, of the documents in those that match, and then each document, 64 at a time.
//
// Log. An append is one transaction: it changes the header, naming the header's version, and creates the records after the head. So indexes are dense, none is
// used twice, and a record is in the log exactly if the header includes it. Calls of one handle that arrive while a request is in flight
// share the next one, up to 256 records or about 900 kB. Handles that collide retry after a random pause of up to 64 ms. A reader reads the
// header and then the records by their names, 64 at a time; it never lists all names.
//
// Snapshots. The parts are written first, then the pointer, by its version. The next snapshot removes parts without a pointer.
//
// Trimming. The header first records the trimmed index; then the records are deleted, 500 with each request. The next Trim deletes what a crash leaves.
//
// Reads. ZooKeeper reads from the server that the client is connected to, which may be stale. Get, Read and Snapshot first make it catch up,
// then read on the same connection, and start again on another one; concurrent calls share this. A following server catches
// up by a sync. A single server does all in one order, so any request is enough. The leader answers a sync at once, and may for a moment lack what its
// followers have acknowledged; there, and if the role of the server is unknown, an empty transaction is made. After a sync or a transaction, watched data that
// has not changed since it was read is not read again. So a read costs two round trips, or one.
//
// Sessions. Each has its own ZooKeeper session and connection, and its documents are ephemeral. A server that grants less than ttl is refused. Done
// is closed when the servers report that the session has expired, and at seven eighths of its timeout without an answer, which is before others can see its documents gone.
// A session is never replaced by another one. A follower reports a client's traffic to its leader up to half a tick later. So a write is sent only on a connection whose server
// has heard of us within half of the timeout (otherwise the connection is made again, which involves the leader). A write that was acknowledged too late to prove that it renewed
// the session is store.ErrUnknown.
//
// # Lost answers
//
// The client library reconnects on its own and repeats nothing. A request that was not answered when the connection broke, or when ctx ended, is
// store.ErrUnknown; one that was still in the queue, or waited for a connection, is not done. Append and the pointer of snapshots name the version
// that they replace, so they are sent again: if they succeed now they were not done before, and if the version has changed, the name of the batch at that place
// shows whose it is. An append ends unknown only if the connection does not come back within Timeout, or ctx ends.
//
// # What is not guaranteed
//
// A server that believes to be the leader answers a sync without asking the others. A leader that was cut off continues for up to syncLimit ticks (10 s
// by default): members that are cut off with it may read stale data for that long. They cannot change anything, so they cannot renew their sessions either.
// With QuorumReads each read waits for an empty transaction instead, which only a leader with a quorum can do.
//
// A session's documents stay longer than ttl after the death of their owner: the servers round up to the next tick (2 s by default), restart the time when a new leader is
// elected, and grant no timeout under minSessionTimeout (2 ticks). [Store.EndSession] removes them at once.
//
// A version is reused after 2^32 changes of one document. A header's version counts likewise; an index is never reused.
//
// The server is asked for its role by the command srvr, at the address of the connection. If that is a load balancer, another server may answer: use
// QuorumReads there.
//
// Hints: those of documents cost one of ZooKeeper's watches for each document below the prefix. A reader that follows a hint arms the watch
// with its read. If nobody reads, the handle reads it a tenth of a second later to arm the watch, and sends another hint.
//
// # Failures
//
// Without a connection calls wait, until their ctx ends or for Timeout; then store.ErrUnavailable, with the reason of the last attempt. Servers are tried in turn without a pause,
// then with pauses of 20 to 320 ms, then of a second. Open distinguishes servers that cannot be reached, that do not serve, that are not ZooKeeper, and that refuse access.
//
// Values of more than 900 kB are refused (store.ErrTooLarge): servers take requests of up to 1 MB (jute.maxbuffer, which must not be lower). Snapshots may
// have 256 MB.
//
// Nodes below the store's path that another program changed: [ErrDamaged].
//
// # Servers
//
// Use three or five servers, with srvr in the 4lw.commands.whitelist (it is there by default; without it each read is a transaction). Set tickTime so that 2 ticks are at most the members' ttl and 20 ticks (or maxSessionTimeout) at least that; maxClientCnxns (60 for each client
// address by default) above twice the members of one machine; autopurge.purgeInterval, or the disk fills. With forceSync=no, acknowledged writes can be lost.
//
// # Where it comes from
//
// ZooKeeper's Programmer's Guide (consistency, sessions, watches) and its recipes. It uses the conditional head instead of sequential nodes because their
// counter has 31 bits (ZOOKEEPER-2944) and they can only be found by listing all names.
package zookeeper

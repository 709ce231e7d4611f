// Package zookeeper is a store on Apache ZooKeeper, shared by any number of members on any number of machines.
//
// # Purpose
//
// It is the store of `rota run --store zookeeper://zk1:2181,zk2:2181,zk3:2181/rota`, for people who run ZooKeeper (3.5 or newer) already. It has all
// contracts of package store: documents, log, watches, and sessions that expire.
//
// # State
//
//	/rota                     "rota 1": the format
//	  docs/+pulse+m1/boot     a document of key pulse/m1/boot: its life, a line feed, the value. Folders are container nodes
//	  lives/<life>            empty; exists exactly as long as the document of that life
//	  log                     "head trimmed freed": three indexes
//	    00000000000000000017  a record: the random name of its batch, and the bytes
//	  snap                    which snapshot counts: index, name, parts, bytes, CRC-32C
//	    <index>-<name>-<part> a part of a snapshot, 768 kB
//
// # Guarantees
//
// Versions. ZooKeeper counts the changes of a node anew when it is deleted and created again, and cannot compare anything else on a conditional
// write. So each life of a document has a random name, which is in its version, and a node of that name in lives/. Both nodes are created in one
// transaction and deleted in one; an ephemeral pair goes in the one that ends its session. A change is a transaction of two: life/<name> exists, and the
// document's counter is n. Both hold only if it is that life and that version. A document costs two nodes.
//
// Documents. Put and Delete are one transaction each; the first document of a folder costs another request, for the folder. List reads the names of all
// folders, of the documents in those that match, and then each document, 64 at a time.
//
// Log. An append is one transaction: it changes the header, naming the header's version, and creates the records behind the head; so indexes are dense, none is
// given twice, and a record stands in the log exactly if the header says so. Calls of one handle that come while a request is under way
// go together into the next one, up to 256 records or about 900 kB. Handles that collide try again after a random pause of up to 64 ms. A reader takes the
// header and then the records by their names, 64 at a time; it never asks for a list of all names.
//
// Snapshots. The parts are written first, then the pointer, by its version. What nothing points to is removed after the next snapshot.
//
// Trimming. The header says first what is trimmed; then the records are deleted, 500 with each request. What a crash leaves is deleted by the next Trim.
//
// Reads. ZooKeeper reads from the server that the client is connected to, which may be behind. Get, Read and Snapshot first make it catch up,
// then read on the same connection, and begin again on another one; calls that come together share that. A server that follows catches
// up by a sync; one that stands alone does all in one order, so that it only has to be asked. The leader lets a sync pass, and may be a moment behind what its
// followers have acknowledged: there, and where a server does not tell what it is, an empty transaction is made. Behind a sync or a transaction, what is watched and has
// not changed since it was read is not read again. So a read costs two round trips, or one.
//
// Sessions. Each has a ZooKeeper session and a connection of its own, and its documents are ephemeral. A server that grants less than ttl is refused. Done
// is closed when the servers say that the session has expired, and at seven eighths of its timeout without an answer, which is before others can see its documents gone; it
// is never replaced by another one. A follower tells its leader of a client's traffic only half a tick later, so a write goes out only on a connection whose server has
// heard of us within half of the timeout (else it is made anew, which the leader is asked about), and one that was acknowledged too late to prove that it renewed the session
// is store.ErrUnknown.
//
// # Lost answers
//
// The client library connects again by itself and repeats nothing. A request that was not answered when the connection broke, or when ctx ended, is
// store.ErrUnknown; one that was still in the queue, or waited for a connection, is not done. Append and the pointer of snapshots name the version
// that they replace, so they are sent again: if they are done now they were not before, and if the version has gone on, the name of the batch at the place
// tells whose it is. An append ends unknown only if the connection does not come back within Timeout, or ctx ends.
//
// # What is not guaranteed
//
// A sync is answered by whoever takes himself for the leader, without asking the others. A leader that was cut off goes on for up to syncLimit ticks (10 s
// by default): members that are cut off with it may read what is old for so long. They cannot change anything, so they cannot renew their sessions either.
// With QuorumReads each read waits for an empty transaction instead, which only a leader with a quorum can do.
//
// A session's documents stay longer than ttl after the death of their owner: the servers round up to the next tick (2 s by default), start the time anew when a new leader is
// elected, and grant no timeout under minSessionTimeout (2 ticks).
//
// A version comes back after 2^32 changes of one document. A header's version counts likewise; an index never comes back.
//
// The server is asked what it is by the command srvr, at the address that the connection leads to. Where that is a balancer, the answer may be another server's: use
// QuorumReads there.
//
// Hints: those of documents cost one of ZooKeeper's watches for each document below the prefix. Who is told of a change and looks at it arms the watch
// with his read; what nobody looks at is read for that, a tenth of a second later, and hinted at again.
//
// # Failures
//
// Without a connection calls wait, until their ctx ends or for Timeout; then store.ErrUnavailable, with the reason of the last attempt. Servers are tried in turn without a pause,
// then with pauses of 20 to 320 ms, then of a second. Open tells servers that cannot be reached, that do not serve, that are no ZooKeeper and that refuse access apart.
//
// Values of more than 900 kB are refused (store.ErrTooLarge): servers take requests of up to 1 MB (jute.maxbuffer, which must not be lower). Snapshots may
// have 256 MB.
//
// Nodes that somebody else changed below the store's path: [ErrDamaged].
//
// # Servers
//
// Three or five of them, srvr among the 4lw.commands.whitelist (where it is unless somebody took it out: without it each read is a transaction), tickTime so that 2 ticks are at most the members' ttl and 20 ticks (or maxSessionTimeout) at least that; maxClientCnxns (60 for each client
// address by default) above twice the members of one machine; autopurge.purgeInterval set, or the disk fills. forceSync=no gives away what was acknowledged.
//
// # Where it comes from
//
// ZooKeeper's Programmer's Guide (consistency, sessions, watches) and its recipes; the conditional head instead of sequential nodes because their
// counter has 31 bits (ZOOKEEPER-2944) and their names must be listed to be found.
package zookeeper

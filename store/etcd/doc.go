// Package etcd is a store in an etcd cluster, 3.4 or newer.
//
// # Purpose
//
// It is the store of `rota run --store etcd://a:2379,b:2379,c:2379/rota`: for people who run etcd already and want a cluster on many
// machines. It implements all contracts of package store: documents, log, watches and sessions.
//
// # State
//
// All keys are below one prefix, so that several stores, and other programs, can share a server.
//
//	P/format                   "rota 1"; a store with a higher number is not opened
//	P/docs/<key>               a document; its version is the key's mod revision
//	P/log/<index, 20 digits>   a record; indexes begin at 1 and have no gaps
//	P/head                     the index of the newest record; never removed
//	P/began                    the index after which the log begins; only where it was seeded
//	P/snapshot                 which snapshot is the newest: index, folder, number of chunks, SHA-256
//	P/chunks/<index>-<id>/<n>  1 MiB of a snapshot each
//
// # Guarantees
//
// Get and Read are linearizable, and so is each change: one transaction of etcd that compares mod revisions. What was acknowledged is on the disks of
// a majority. Read shows one instant, and so does List where there are no more than 256 documents.
//
// An append compares the revision of the head: the records of one handle that wait at the same time go into one transaction, of up to 127 records
// or 1 MiB; where another handle was first, nothing was changed, and they are sent again after that handle's records.
//
// A snapshot's chunks are written first; then one transaction writes the last chunk and the pointer to all of them, if there is still no newer
// snapshot. A snapshot that was not finished is never read, and the next one that is finished removes what it left.
//
// Trim removes at most 2,000 records with one request, since a server serves nobody else meanwhile.
//
// A session is a lease of at least the ttl, in whole seconds. Put renews the lease and waits for the answer before it writes, so a document that was
// acknowledged stays for the ttl, counted from the call. A session without a Put for half of the ttl is renewed by a goroutine, so its documents
// stay as long as the process lives and reaches the server. Done is closed when the server says that the lease is gone and, if it cannot be reached, when
// the ttl has passed since the last renewal that was answered was sent: by the machine's own clock, because a client is not always told.
// A session that is over by that clock is not revived, and its lease is revoked.
//
// # What is not guaranteed
//
// An etcd whose leader's disk stalls may end all leases at once, and a leader that was deposed may still end some (issues 15247 and 12528 of
// etcd-io/etcd; much better since 3.5.13 and 3.6). Then documents vanish though they were renewed in time, and two members may both believe
// that they are the owner: of Rota's promises, fencing tokens (G3) hold then, and exclusion in time (G2) does not.
//
// The documents of a process that died vanish after the ttl, rounded up to seconds and to the server's minimum (one and a half election timeouts), plus up
// to a second; after a change of the server's leader the time begins again.
//
// A server that was restored from a backup has its old revisions again, unless `etcdutl snapshot restore --bump-revision` is used: then a version may
// come back.
//
// # Failures
//
// A change whose request never left this machine, or that the server refused by name, was not done: no leader, too many requests, no permission, a
// lease that is gone. "Database space exceeded" is also said of the change that crossed the quota, though that was made: a read of
// its key decides. A full server still takes Delete and Trim. Everything else that is not an answer (a deadline, a broken connection, "request timed
// out", "leader changed", "server stopped") is store.ErrUnknown. The client's own retries are switched off for changes. Calls that change nothing are
// made up to five times, on another server as a rule.
//
// A server that is reached but hangs, as on a machine that is suspended, costs a handle three seconds: a call on whose connection nothing comes for so
// long closes it, and the next one goes to another server. If the server that hangs leads, an election comes on top.
//
// # What the server needs
//
// etcd keeps all former values until its history is compacted: run it with --auto-compaction-mode=periodic --auto-compaction-retention=5m, or as
// you do already. Trim and new snapshots free space in the database after that; this package never compacts, since history belongs to the whole
// server. Requests of 1.5 MiB and 128 operations (the defaults) are expected; where a server allows fewer operations, appends go in smaller batches.
// With RBAC, a role with readwrite on the prefix P/ is enough.
//
// # Limits
//
// Documents and records: [MaxRecord]. Snapshots: [MaxSnapshot]. The database of a server should stay below 8 GiB.
//
// # Where it comes from
//
// Revisions, transactions, leases and watches are those of etcd's v3 API. That a lock in etcd needs a compare in each write, and watches are hints,
// was shown by Jepsen's analysis of etcd 3.4.3; own deadlines of sessions answer issues 5571 and 22387 of etcd-io/etcd.
package etcd

// Package etcd is a store in an etcd cluster, 3.4 or newer.
//
// # Purpose
//
// It is the store of `rota run --store etcd://a:2379,b:2379,c:2379/rota`: for users of etcd who need a cluster on
// several machines. It is a driver of package driver: package engine makes documents, log, watches and sessions of it.
//
// # State
//
// All keys are below one prefix, so that several stores, and other programs, can share a server.
//
//	P/format           "rota 2"; a store with another number is not opened
//	P/d/<key>          a document
//	P/l/main/head      where the log begins and ends
//	P/l/main/p/<index> a record, written in one transaction with the head
//	P/l/main/...       large records and snapshots; see package engine/log
//
// A value begins with the name of the write: its length, and the name. Versions are mod revisions.
//
// # Guarantees
//
// Each read is linearizable, and so is each change: one transaction of etcd that compares a mod revision. Acknowledged
// writes are on the disks of a majority. Get, Gets and List of up to about 127 documents, and a page of the log, are of
// one instant. A read of the log and of documents with ReadWith is one request.
//
// An append compares the revision of the head. Concurrent records of one handle go into one transaction. Whoever
// loses to another handle waits, and tries again after that handle's records.
//
// A write whose answer was lost is looked for by its name; see package engine. A delete leaves no name.
//
// Trim removes at most 2,000 records with one request, because a server serves no other requests meanwhile.
//
// A session is a lease of at least the ttl, in whole seconds. Put renews the lease and waits for the answer before it
// writes, so an acknowledged document stays for the ttl, counted from the call. A goroutine renews a session that had
// no Put for half of the ttl, so its documents stay as long as the process lives and reaches the server. Done is closed
// when the server reports that the lease is gone. If the server cannot be reached, Done is closed when the ttl has
// passed since the last acknowledged renewal was sent: by the machine's own clock, because a client is not always
// notified. A session that has expired by that clock is not revived, and its lease is revoked.
//
// # What is not guaranteed
//
// An etcd whose leader's disk stalls may end all leases at once, and a deposed leader may still end some (issues 15247
// and 12528 of etcd-io/etcd; much better since 3.5.13 and 3.6). Then documents vanish though they were renewed in time,
// and two members may both believe that they are the owner. Of Rota's promises, fencing tokens (G3) hold then, and
// exclusion in time (G2) does not.
//
// The documents of a dead process vanish after the ttl, rounded up to seconds and to the server's minimum (one and a
// half election timeouts), plus up to a second; after a change of the server's leader the time starts again. EndSession
// removes them at once.
//
// A server that was restored from a backup reuses its old revisions, unless `etcdutl snapshot restore --bump-revision`
// is used: then a version may occur twice.
//
// # Failures
//
// A change whose request never left this machine, or that the server refused for a known reason, was not done: no
// leader, too many requests, no permission, a missing lease. "Database space exceeded" is also returned for the change
// that crossed the quota, though it was made: a read of its key decides. A full server still accepts Delete; Trim has
// to wait until there is room, because it writes where the log begins. Everything else that is not an answer (a
// deadline, a broken connection, "request timed out", "leader changed", "server stopped") is store.ErrUnknown to the
// driver, and package engine settles it where it can. The client's own retries are switched off for changes. Reads are
// tried up to five times, usually on another server.
//
// A server that is reachable but hangs, as on a suspended machine, costs a handle three seconds: a call closes its
// connection if it receives nothing for that long, and the next one goes to another server. If the hanging server is
// the leader, an election is needed too.
//
// # What the server needs
//
// etcd keeps all old values until its history is compacted: run it with --auto-compaction-mode=periodic
// --auto-compaction-retention=5m, or keep your present policy. After that, Trim and new snapshots free space in the
// database. This package never compacts, because the history belongs to the whole server. It expects requests of 1.5
// MiB and 128 operations (the defaults); if a server allows fewer operations when it is opened, appends go in smaller
// batches. With RBAC, a role with readwrite on the prefix P/ is enough.
//
// # Limits
//
// Documents and records: [MaxRecord]. Snapshots: [MaxSnapshot]. The database of a server should stay below 8 GiB.
//
// # Where it comes from
//
// Revisions, transactions, leases and watches are those of etcd's v3 API. Jepsen's analysis of etcd 3.4.3 showed that a
// lock in etcd needs a compare in each write, and that watches are hints; the sessions' own deadlines answer issues
// 5571 and 22387 of etcd-io/etcd.
package etcd

// Package elastic is a store in an index of Elasticsearch, 8 or newer, or of OpenSearch, 2 or newer.
//
// # Purpose
//
// It is the store of `rota run --store elastic://a:9200,b:9200,c:9200/rota`, for users of a search cluster. It is a
// driver of package driver: package engine makes documents and a log of it. There are no watches and no sessions:
// members poll, and heartbeats detect dead members.
//
// # State
//
// One index, with one primary shard, created with its mapping when the store is opened for the first time. A row of the
// engine is a document of the index. Its _id is the key of a document ("a/b"), or a slash and another key of the engine
// ("/l/main/head", see package engine/log):
//
//	{"key": "d/a/b", "kind": "v", "value": {...}, "sum": 12345, "by": "ABC.1"}   a value that is a JSON object
//	{"key": "d/a/b", "kind": "v", "bytes": "aGVsbG8=", "sum": 12345, "by": ...}  any other value, in base64
//
// kind is the letter with which a value of the engine begins. Only key is indexed. sum is a CRC-32C of key, kind and
// value, by names the write. A version is the pair of _seq_no and _primary_term: two primaries may use the same number
// under two terms. The mapping has format 2; format 1 is refused with the way out.
//
// # Guarantees
//
// A swap creates with _create, or replaces or deletes with if_seq_no and if_primary_term. So it applies only to the
// version that its caller has seen, a row that was deleted never gets an old version again, and acknowledged writes are
// on the disks of all in-sync copies of the shard. It writes one row: the only request for several, _bulk, is not
// atomic. So the log keeps its newest records in its head ("tail"), and Free, which need not be atomic, is a bulk
// request.
//
// Read is a realtime multi-get and sees everything acknowledged before it began. All handles read the same copy of the
// shard. A server shows a write to readers of one copy before all copies have it, and loses it if the primary dies
// then. So a row with a version new to the handle is returned only after the global checkpoint shows that all copies
// have it: one more request for each new version.
//
// A conflict is verified, because a server that loses its primary repeats a write on its own, and may then meet the
// result of the first attempt. Our own row counts once it is on all copies, under the version that it has there. If the
// row is unchanged, the conflicting write is gone again, and ours is sent again.
//
// # What is not guaranteed
//
// It guarantees less than other stores if nodes are suspended or cut off. An old primary that does not know its
// successor returns stale reads, to handles whose servers do not know it either, for as long as the cluster's fault
// detection takes. It acknowledges no write. So of Rota's promises, fencing tokens (G3) hold, and exclusion in time
// (G2) may fail for that long.
//
// A write that a server repeated on its own looks like another writer's if the row was replaced or deleted before our
// check. Then a change that was done, and undone or replaced at once, is reported as a conflict, and a completed Delete
// returns store.ErrNotFound. This requires the death of a primary within the call.
//
// List is a search; it is stale by up to the refresh interval of the index, a second by default. [Store.Refresh] brings
// it up to date. So a trim of the log removes by name what it knows of, and the next one what it did not find.
//
// A delete leaves no tombstone: one whose answer was lost is store.ErrUnknown. Nobody ends the life of another here.
//
// An index restored from a snapshot of the server may reuse a version.
//
// # Failures
//
// Not done: a request without a connection, and one that the server refuses for a known reason: conflict, index
// blocked, too many requests, no permission, a request it cannot parse. Everything else that is not an answer, and each
// 5xx, is store.ErrUnknown to the driver, and package engine settles it where it can. The client is net/http, which
// repeats a request only if nothing of the first one was written to a connection (docs/decisions, 38). Reads are tried
// on each server, and once more.
//
// [Open] refuses an index with another mapping, with several shards, red, blocked (flood stage), or that acknowledges
// before it syncs, and servers that are too old or something else; each error says what to do.
//
// # Limits
//
// Documents and records: [MaxValue]. Snapshots: [MaxSnapshot]. Servers limit an _id to 512 bytes, as store.MaxKey does.
//
// # Where it comes from
//
// The rules of sequence numbers and primary terms are Elasticsearch's own; Jepsen's analyses of 1.1 and 1.5 showed that
// versions alone lose updates.
package elastic

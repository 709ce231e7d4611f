// Package elastic is a store in an index of Elasticsearch, 8 or newer, or of OpenSearch, 2 or newer.
//
// # Purpose
//
// It holds the documents of `rota run --store elastic://a:9200,b:9200,c:9200/rota`, for people who run a search cluster already. It implements documents and
// [store.GetMany]; package doclog puts the log into them. There are no watches and no sessions: members ask, and heartbeats tell that one is dead.
//
// # State
//
// One index, with one primary shard, made with its mapping when it is opened for the first time. A document's key is its _id:
//
//	{"key": "a/b", "value": {...}, "sum": 12345, "by": "ABC.1"}   a value that is a JSON object
//	{"key": "a/b", "bytes": "aGVsbG8=", "sum": 12345, "by": ...}   any other value, in base64
//
// Only key is indexed. sum is a CRC-32C of key and value, by names the write. A version is the pair of _seq_no and _primary_term: two primaries may give the
// same number under two terms.
//
// # Guarantees
//
// Put creates with _create, or replaces with if_seq_no and if_primary_term; Delete compares both too. So a change is made only on top of what its caller has
// seen, a deleted document never gets an old version again, and what was acknowledged is on the disks of all copies of the shard that are in sync.
//
// Get and Gets are realtime multi-gets and see what was acknowledged before they began. All handles read the same copy of the shard. A server shows a write to
// readers of the copy that has it before all copies have it, and loses it if the primary dies then. So a document whose version is new to the handle is
// returned only after the global checkpoint says that all copies have it: one more request for each new version.
//
// A conflict is looked into before it is believed. A server that loses its primary makes a write again by itself, and may then meet what the first attempt
// wrote. Where the document is our own, it is written once more, on top of itself; once that is acknowledged, it counts. Where it is as it was before, the write
// was refused because of one that is gone again, and is sent again.
//
// Gets reads in the order of its keys: a server reads the documents of one shard one after the other.
//
// # What is not guaranteed
//
// Less than on other stores when nodes are suspended or cut off. An old primary that has not heard of its successor answers reads from the past, to handles whose
// servers have not heard of it either, for as long as the cluster's fault detection takes. It acknowledges no write. So of Rota's promises, fencing tokens
// (G3) hold, and exclusion in time (G2) may fail for that long.
//
// A write that a server made twice by itself is taken for another's if somebody replaced or deleted it before we looked: then a change that was done, and undone
// or replaced at once, is called a conflict, and a Delete that was done says store.ErrNotFound. It takes the death of a primary within the call.
//
// List is a search and lags by the refresh interval of the index, a second unless it is set.
//
// An index restored from a snapshot of the server may give a version again.
//
// # Failures
//
// Not done: a request that found no connection, and what the server refuses by name: conflict, index blocked, too many requests, no permission, a request it
// cannot parse. Everything else that is not an answer, and each 5xx, is store.ErrUnknown. The client is net/http, which sends a request a second time only if
// nothing of the first was written to a connection (docs/decisions, 38). Calls that change nothing are made on each server, and once more.
//
// [Open] refuses an index with another mapping or more than one primary shard, one that is blocked (flood stage) or acknowledges before it syncs, a red one, a
// server that is too old or something else; each error says what to do.
//
// # Limits
//
// Values: [MaxValue]. A key is an _id, which servers limit to 512 bytes, as store.MaxKey does.
//
// # Where it comes from
//
// The rules of sequence numbers and primary terms are Elasticsearch's own; that versions alone lose updates was shown by Jepsen's analyses of 1.1 and 1.5.
package elastic

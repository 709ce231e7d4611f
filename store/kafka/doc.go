// Package kafka is a store in a Kafka cluster: 2.4 or later, for the group; tested with 4.3.
//
// # Purpose
//
// It is the store of `rota run --store kafka://host:9092/rota`, for users of Kafka. It has a log, documents, watches,
// the group of protocol sync, and queues of flows.
//
// # State
//
//	topic NAME.log           the log: one partition; a record's index is its offset and one
//	topic NAME.docs          the rows of the engine, folded from a log by package fold: documents, which snapshot counts
//	topic NAME.q-HASH        for each flow its operations, as package logqueue lays them into a log
//	topics NAME.….-values    beside each of them: parts of its snapshots, and the segments of a flow
//	group NAME               the members of protocol sync; of type "rota"
//
// Each record has the header "rota": a byte for the format, and a checksum of its value. Records without it are
// foreign: they are skipped and counted. So kafka-console-consumer shows the log, and kafka-console-producer does no
// harm. A record of another format is an error.
//
// # Guarantees
//
// The records of an append are one batch of Kafka's: brokers keep all of it or none, whatever happens to them. The
// store numbers batches as an idempotent producer does, so that a broker stores each once however often it is sent:
// one whose answer was lost is sent again. It is acknowledged when all in-sync replicas have it, and at least most of
// all replicas (min.insync.replicas). Concurrent appends share a batch, and so do changes of documents. A log's head
// is the offset that, by the leader of the partition, all in-sync replicas have.
//
// A replaced leader that has not noticed may still return an old head. For a moment the log can be read this way, but
// not written. For documents that is not enough: if topics have replicas, Get first appends a mark, which only the true
// leader acknowledges, and reads up to it.
//
// A log begins behind the index that the row "begin" says. The first append, or a seed, writes it, and is decided by
// it.
//
// The group is Kafka's classic group protocol, spoken request by request, so that the user of the store knows when a
// heartbeat was sent. As package store says, a generation is forgotten if its coordinator dies before it is synced.
// Kafka forgets an empty group after some time.
//
// # What is not guaranteed
//
// Kafka acknowledges before it writes to disk: acknowledged writes survive the end of processes, and of fewer machines
// than min.insync.replicas. With one replica they do not survive the end of the machine.
//
// Documents are in the memory of each handle, and each handle reads all changes of them: it is meant for thousands of
// documents, not for millions. There are no sessions: heartbeats are documents, as on any store without them. A
// guardian puts a tombstone in the place of that of a dead process, or leaves the group for it. The data of a flow stay
// until it is dropped.
//
// An append that fails may have begun the log: it can be appended to then, and not be seeded any more.
//
// # Failures
// If no broker answers, a partition has no leader, the user lacks a permission, or the settings of a topic would lose
// records: store.ErrUnavailable, with what to try. If an append was not answered in time, or too few replicas had it:
// store.ErrUnknown; its numbers are not used again, and it may still arrive later. [ErrDamaged]: a topic was deleted,
// or created again, while the store was open. No call waits for a broker that does not answer: calls end with their
// ctx, and Close abandons such requests.
//
// # Where it comes from
//
// Record numbers per producer are KIP-98; KIP-207 makes a new leader wait until it knows what all replicas have.
// KIP-394 gives a member an ID before it joins.
package kafka

// Package kafka is a store in a Kafka cluster: 2.4 or later, for the group; tested with 4.3.
//
// # Purpose
//
// It is the store of `rota run --store kafka://host:9092/rota`, for those who run Kafka already. It has a log, documents, watches, the group that
// protocol sync is made of, and queues of flows.
//
// # State
//
//	topic NAME.log              the log: one partition; a record's index is its offset and one
//	topic NAME.log-snapshots    its snapshots, cut into parts
//	topic NAME.docs             the documents, as package logdocs lays them into a log
//	topic NAME.docs-snapshots   snapshots of all documents
//	topics NAME.flow-HASH.facts and .data   of each flow: its operations, as package logqueue lays them into a log, and its segments
//	group NAME                  the members of protocol sync; of type "rota"
//
// A record has the header "rota", a checksum of its value. Records without it are not ours: they are skipped, and counted. So kafka-console-consumer shows the
// log, and kafka-console-producer does no harm.
//
// # Guarantees
//
// Each append is one record that the client numbers, so that a broker stores it once however often it is sent, and that is acknowledged when all replicas in
// sync have it, most of them at least (min.insync.replicas). Appends made at the same time share requests. A log's head is what the leader of the partition says
// that all replicas in sync have.
//
// A leader that was replaced, and has not noticed, may still answer with an old head. The log can be read so for a moment, but not written. For
// documents that is not enough: where topics have replicas, Get first appends a mark, which only the true leader acknowledges, and reads up to it.
//
// Snapshots are written in parts under a name of their own; the last part completes them. SaveSnapshot returns when the snapshot was read back.
//
// A log that continues another one begins with a seed, a record that says at which index that one has ended; the first record of a log decides. Snapshots
// repeat it, since a trim removes the first record.
//
// The group is Kafka's classic group protocol, spoken request by request, so that the store's user knows when a heartbeat was sent. A generation of a
// coordinator that died before the generation was synced is forgotten, as package store says. Kafka forgets an empty group after some time.
//
// # What is not guaranteed
//
// Kafka acknowledges before it writes to the disk: what was acknowledged survives the end of processes, and of machines fewer than min.insync.replicas. With
// one replica it does not survive the end of the machine.
//
// Documents are in the memory of each handle, and each handle reads all changes of them: it is meant for thousands of documents, not for millions.
// There are no sessions: heartbeats are documents, as on any store without them.
//
// # Failures
//
// No broker answers, a partition has no leader, the user may not do it, the settings of a topic would lose records: store.ErrUnavailable, with what to try. An
// append that was not answered in time, or for which too few replicas are in sync: store.ErrUnknown; the client forgets it, and it may still come later.
// [ErrDamaged]: a topic was deleted, or made again, while the store was open. Nothing waits for a broker that does not answer: calls end with their ctx, and Close
// leaves such requests behind.
//
// # Where it comes from
//
// Numbers of records per producer are KIP-98; that a new leader does not answer before it knows what all have is KIP-207. That a member first gets an ID,
// and then joins, is KIP-394.
package kafka

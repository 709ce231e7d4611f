// Package kafka consumes topics of Kafka with the members of a cluster: each partition of a topic by exactly one of
// them.
//
// # Purpose
//
// [NewType] makes a task type of a function that takes records, [Task] a task of it for some topics. The cluster deals
// the partitions of the topics out to its members, as it does all other work: by weight, by label, with the load of
// everything else in mind, with a reason for each move, and with a fencing token for each owner, which a consumer group
// has not. The position of each partition is kept in the cluster, and, if a group is named, committed to it as well, so
// that tools which show the lag of a group go on to work.
//
//	topic orders  →  partition "orders" of the task: looks how many partitions there are, splits into
//	                   "orders/0" … "orders/11": one partition of the topic each
//	                   "orders@12": looks for more of them from time to time, and splits in its turn
//
// # Guarantees
//
// A partition is consumed by one member at a time, in order; how this is kept when a member is silent is the matter of
// the task's hand-over. A record is handed over until the function has taken it: at least once. A position is saved
// under the token of its owner: one that has lost its partition cannot set back, or forward, what the next one has
// saved. A run that stops gracefully, because its partition moves or its member leaves, saves where it stands, and
// nothing is consumed twice.
//
// A partition that was added to a topic later is consumed from its first record. A topic that was deleted and recreated
// is noticed by its ID, and consumed from the first record of the new one.
//
// # What is not guaranteed
//
// Records taken since the last save, [Config].Save ago at most, are handed over again when a process is killed. There
// is no order between partitions. A group that has members of its own refuses commits; that is logged, and the
// cluster's own position counts.
//
// # Failures
//
// Where brokers do not answer, a topic is missing or forbidden, a run fails with an error that says so and is tried
// again with back-off. Brokers that go away under a run are waited for, and logged once each time. A position that the
// topic has no longer is answered by the rule of [Config].OutOfRange, logged and counted in the sample
// kafka_records_lost. A record that the function refuses stops its partition there, and no other: it is tried again,
// and parked after the task's MaxAttempts.
//
// # Cost
//
// All runs of a process share one client for the same brokers, so one connection and one outstanding fetch for each
// broker. A quiet partition writes nothing and asks for nothing by itself. At most two fetches of a partition wait in
// memory, each of [MaxPartitionBytes] as it came over the network; then it is paused.
//
// # Where it comes from
//
// The Kafka loop of the source document elasticsearch-cluster-state; decision 23.
package kafka

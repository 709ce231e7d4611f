// Package kafka publishes samples to a topic of Kafka.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher. A record is one sample: its key is the series, so that a series stays in
// one partition, and its value is the JSON of the sample.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in order within a series, nothing lost in silence. Each record is
// acknowledged by all in-sync replicas; the producer is idempotent, so that what the client itself repeats is there
// once.
//
// # What is not guaranteed
//
// After a batch of unknown outcome its records are sent again, and may be there twice. Where one record of a series
// fails, the later ones of the same series in the batch are sent again with it. The topic is not created.
//
// # Failures
//
// What the client calls retriable, a missing topic and a lost connection are retried; a record that is too large, and
// one that the cluster does not allow, is dropped and counted.
package kafka

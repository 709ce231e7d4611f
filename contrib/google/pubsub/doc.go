// Package pubsub publishes samples to a topic of Google Cloud Pub/Sub.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher, [Open] a publisher for rotacmd.WithPublisher. A message is one sample: its
// data is the JSON of the sample, and its attribute name is the sample's, for filters of subscriptions. With ordering
// the series is the ordering key.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in the order of the samples, nothing lost in silence. The client's own
// retries are off: an attempt is one request.
//
// # What is not guaranteed
//
// Subscribers see the order of a series only with ordering, and only where their subscription asks for it. After a lost
// answer messages are there twice. The topic is not created.
//
// # Failures
//
// Lost connections, a missing topic, exhausted quotas and errors of the server are retried. What Pub/Sub finds invalid
// or does not allow is dropped and counted.
//
// # Where it comes from
//
// The source document coalesce, "Publisher", pubsub.
package pubsub

// Package otlp publishes samples to a collector of OpenTelemetry.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher that speaks OTLP over HTTP with protobuf. A sample is a gauge with its
// name, and its tags are attributes of its points.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in order, nothing lost in silence. A partial success is read: points that
// the collector rejects are dropped and counted.
//
// # What is not guaranteed
//
// The collector does not say which points it rejects: as many samples as it rejects points are counted as dropped, at
// most those of the batch. A point that is not a number is sent as one without a value.
//
// # Failures
//
// Statuses 408, 425, 429 and from 500 on are retried, after Retry-After; others drop the batch.
package otlp

// Package otlpgrpc publishes samples to a collector of OpenTelemetry over gRPC.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher. It sends what publish/otlp sends over HTTP; it is a package of its own
// because gRPC is large.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in order, nothing lost in silence. A partial success is read: points that
// the collector rejects are dropped and counted. The client's own retries are off.
//
// # What is not guaranteed
//
// The collector does not say which points it rejects: as many samples as it rejects points are counted as dropped, at
// most those of the batch.
//
// # Failures
//
// The codes that OTLP says may pass are retried, ResourceExhausted only where the collector says when to come again;
// others drop the batch.
package otlpgrpc

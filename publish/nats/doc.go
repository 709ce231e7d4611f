// Package nats publishes samples to a stream of NATS JetStream.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher. A message is one sample as JSON, on one subject that a stream listens on.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in order, nothing lost in silence. Each message is acknowledged by the
// stream. Its Nats-Msg-Id follows from its content, so that the stream leaves out what is sent again within its window
// for duplicates (2 minutes, unless the stream says otherwise).
//
// # What is not guaranteed
//
// After a longer time what is sent again is there twice. The stream is not created.
//
// # Failures
//
// A lost connection, a missing stream, and a stream that is full are retried; a message that is too large or that the
// stream calls a bad request is dropped and counted.
package nats

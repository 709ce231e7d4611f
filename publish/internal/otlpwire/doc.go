// Package otlpwire writes samples in the protobuf of OTLP, and reads the answers.
//
// # Purpose
//
// What publish/otlp sends by HTTP and publish/otlpgrpc by gRPC are the same bytes, without the generated types.
//
// # Guarantees
//
// The proof decodes them with the official types.
//
// # What is not guaranteed
//
// Only gauges are written.
//
// # Failures
//
// A sample without points, or one that is not UTF-8, is an error.
package otlpwire

// Package wiretest reads protobuf messages in the tests of publishers.
//
// # Purpose
//
// The tests look at the bytes that a publisher sends, without the generated types, and answer by functions.
//
// # What is not guaranteed
//
// A message that is not protobuf is a panic.
package wiretest

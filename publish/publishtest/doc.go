// Package publishtest checks publishers.
//
// # Purpose
//
// [Run] is one suite that each sink of package publish passes, in virtual time and without a network, against a fake of
// its server that does what a [Script] says: it answers, is away, hangs, is busy, refuses, or takes a batch and loses
// the answer.
//
// # Guarantees
//
// The suite fails where a sample is lost, counted wrongly or sent out of order, where a sink delays the caller or
// another sink, where it does not end within its bound, where it leaves a goroutine, and where a secret is in an error.
//
// # What is not guaranteed
//
// That the fake is like the server: the module proof runs the same promises on real ones.
//
// # Failures
//
// A fault is an error of the test, with what was sent and what arrived.
package publishtest

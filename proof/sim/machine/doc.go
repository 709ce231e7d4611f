// Package machine is the contract between the protocols and the programs that try them out: the simulator and the
// exhaustive checker.
//
// # Purpose
//
// Neither the simulator (package sim) nor the checker (package walk) names a protocol. Each protocol is a [Machine]:
// its pure step function, the calls that it makes, and tables of the faults that can meet it. Every folder in here is
// one protocol.
//
// # Guarantees
//
// A machine runs the protocol's own State, Step and Caller. It translates; it decides nothing.
//
// # What is not guaranteed
//
// A machine that says the wrong thing about an effect hides faults. The mutants of its protocol show that it does not.
//
// # Failures
//
// None of its own.
//
// # Where it comes from
//
// Four protocols share one value (docs/decisions, 34); this is what their proofs share.
package machine

// Package machine is the contract between the protocols and the programs that try them out: the simulator and the
// exhaustive checker.
//
// Neither the simulator (package sim) nor the checker (package walk) names a protocol. Each protocol is a [Machine]:
// its own State, Step and Caller, and tables of its phases, of the faults that can meet it in them, and of its bounds.
// Every folder in here is one protocol.
//
// A machine translates and decides nothing. One that says the wrong thing about an effect hides faults: the mutants of
// its protocol show that it does not.
package machine

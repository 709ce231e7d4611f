// Package check walks every state of a small system, breadth first.
//
// # Purpose
//
// The simulator tries many runs; this package tries all of them, within bounds. [Explore] takes a [Model], visits each
// state that can be reached, asks whether it breaks a promise, and whether a good end can be reached from it.
//
// # Guarantees
//
// A complete report without violations is a proof for the model and its bounds. A violation comes with a shortest
// trace. The same model gives the same report.
//
// # What is not guaranteed
//
// Nothing beyond the bounds. Two states with one key are taken as one: a key that leaves out what matters hides faults.
// Keys are hashed to 128 bits; the chance that two states of a walk of ten million collide is below 10^-24.
//
// # Failures
//
// None: Explore reads and writes nothing. A walk that is stopped by its bounds says that it isn't complete.
//
// # Where it comes from
//
// Breadth-first explicit-state model checking, as in SPIN and TLC; "every state can reach a good end" is AG EF good.
package check

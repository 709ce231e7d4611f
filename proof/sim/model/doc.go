// Package model is the store of the simulator and of the checker: what their worlds hold in common.
//
// # Purpose
//
// A [Handle] is the contract of a store: a call of it is one [Request] to a [Side], which says when it is done and what
// becomes of it. [Docs] are its documents. The simulator says when something happens, the checker which moves there
// are.
//
// # Guarantees
//
// A call that cannot be answered at once stops, and is made again from its beginning with the answers that there are:
// see [Turn]. Nothing waits in a goroutine.
//
// # What is not guaranteed
//
// The log is not here: the simulator's has gaps and is trimmed, the checker's is dense.
//
// # Failures
//
// Those of the contracts in package store.
package model

// Package model is the store of the simulator and of the checker: what their worlds hold in common.
//
// A [Handle] is the contract of a store: a call of it is one [Request] to a [Side], which says when it is done and what
// becomes of it. A call that cannot be answered at once stops, and is made again from its beginning with the answers
// that there are: see [Turn]. Nothing waits in a goroutine.
//
// [Docs] are its documents. The log is not here: the simulator's has gaps and is trimmed, the checker's is dense.
package model

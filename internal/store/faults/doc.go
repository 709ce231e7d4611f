// Package faults makes a store that fails by plan.
//
// # Purpose
//
// [Faulty] wraps a store. A function or a [Script] decides when it refuses calls, loses requests, loses answers and
// executes writes late. [FaultyGroup] does the same with the calls of a group.
package faults

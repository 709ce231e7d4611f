// Package drivermap is a store in the memory of one process, as a driver.
//
// # Purpose
//
// It is the example of a driver: all that package driver asks for, behind one mutex. Package store/memory is the engine
// over it, and the tests of the engine run on it.
//
// map.go has all that a driver must do: [Handle] reads, swaps, frees and watches rows. Each further ability has a file
// of its own: [Ordered] orders logs by itself, [Keeping] keeps values beside them, [Seeing] sees that a process ends.
//
// # Guarantees
//
// All calls are linearizable, and none blocks but those that watch. No hint is lost.
//
// # What is not guaranteed
//
// Nothing outlives the process.
package drivermap

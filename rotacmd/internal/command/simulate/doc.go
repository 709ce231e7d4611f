// Package simulate plays a script against the real value and the real schedulers, with no store and no process: members
// are names.
//
// # Purpose
//
// To see what a cluster would do: who runs what after a crash, how two jobs share ten slots, what a drain moves, why
// something waits.
//
// # Guarantees
//
// What it shows is what members would agree on: each command is an entry that package cluster applies, and after it
// every live member does what the value asks of it (accepts, stops, starts, reports the dead) until nobody has anything
// to do. The same script gives the same output.
//
// # What is not guaranteed
//
// There is no time in it: no gap, no lease, no back-off. What needs a wait in a real cluster happens at once.
//
// # Failures
//
// A script that cannot be read is a *ScriptError with its line. A command that the cluster refuses is a result, not an
// error.
package simulate

// Package leader is the protocol leader as a machine for the simulator and the checker.
//
// # Purpose
//
// It names the phases of a member, those of the leader among them, the faults that can hit it in each of them, what its
// effects ask for, and its bounds.
//
// # Guarantees
//
// Those of package machine.
//
// # What is not guaranteed
//
// See package machine.
//
// # Failures
//
// None.
package leader

// Package handle takes a store inside this process away from its user, as a crash or a suspension of a process takes it
// away.
//
// # Purpose
//
// A test or a demonstration has several members in one process. A goroutine can be neither killed nor suspended from
// outside; what stands for that is done to the member's way to the store: package rotatest, rota demo --store memory:.
//
// # Guarantees
//
// While nothing is taken away, a handle is one like any other. What waits for a frozen handle has not begun. To others
// a frozen or lost handle is that of a process which does nothing: its sessions stay until it is closed.
//
// # What is not guaranteed
//
// The user itself goes on: its goroutines run, by their own clocks.
//
// # Failures
//
// Calls of a lost handle return store.ErrClosed.
package handle

// Package sim runs whole clusters in virtual time on one thread: the real decisions of replica and work, the real value
// and the real calls to a simulated store, under every fault that stores, networks, clocks and processes are known for.
//
// # Purpose
//
// A seed draws a world: how many members, which time-out, what kind of store, which faults, when. [Run] lets the world
// live for some hours of its own time, checks what was promised (docs/guarantees.md) after every event, then heals
// everything and checks that the cluster recovers in time. The same [Config] gives the same events, always: a run is
// replayed by its seed, and shortened by leaving faults out of its script ([Shrink]).
//
// # Guarantees
//
// One thread, one order: events that are due at the same instant are ordered by the seed. Each member, incarnation and
// purpose has a stream of chance of its own. Nothing reads a real clock, a map's order or the process's own randomness.
//
// # What is not guaranteed
//
// The world is a model. Real are the step functions of replica and work, the decisions of guardians, the value,
// placement, and replica's Caller with its writer of heartbeats. Modelled are the store (within its contract: docs say
// what the real servers do beyond it), goroutines (any event may wait, in the order in which they came), and runners.
// The shells' own goroutines are tested where they are.
//
// # Failures
//
// A broken promise is a [Violation] in the [Result]. It names seed and event: together with the commit that is all that
// is needed to see it again.
package sim

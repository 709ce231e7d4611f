// Package shell runs one member of any protocol: it feeds events to the protocol's pure step, and has the effects done
// that the step asks for.
//
// # Purpose
//
// A protocol decides in a function without side effects: from a state and an event to another state and effects. What
// is around that function is the same for all of them, and is here: the loop, the store calls on goroutines of their
// own, the watches, the alarm clock, the answers to those who propose, the callbacks, the end. The events and effects
// that every protocol has are types of package member.
//
// # State
//
//	inbox ──→ Step ──→ state ──→ what is watched follows from it
//	  ↑         └────→ effects ──┬─ Assign, Reply, Applying, ...: done here, at once
//	  │                          └─ calls: each on its own goroutine
//	  └── the event that answers a call, a hint, a report, a proposal, the clock
//
// # Guarantees
//
//   - Step is called by one goroutine, one event after the other.
//   - Callbacks (protocol.Events) come from that goroutine, in order. An assignment that nobody has taken is replaced
//     by a newer one.
//   - What the state asks to watch is watched before the calls of the same step are sent, so that no change falls
//     between a read and its watch.
//   - A store that hints, but refuses a watch, is asked by the clock.
//   - When Run returns, its goroutines have ended, and the member's own heartbeat was removed where the store let it.
//
// # What is not guaranteed
//
// That hints come, or come once. A step must look by the clock as well.
//
// # Failures
//
// A store call has a time limit of its own ([Caller]); its event says what became of it. A member that cannot leave
// within Config.LeaveTimeout ends with an error. A proposal whose member ends first has an unknown outcome:
// [ErrStopped].
//
// # Where it comes from
//
// It was written three times: in the packages replica, leader and lease.
package shell

// Package member is what a member is under every protocol: what happens to it, and what it wants done.
//
// # Purpose
//
// A protocol decides in a function without side effects, from a state and an event to another state and effects. The events and effects that every protocol
// has, and those of protocols with a log, are types of this package; a protocol adds its own beside them. Package shell does the effects and makes the events.
//
// # State
//
// [Contact] alone: what the answers to calls have told of the store. It is a value.
//
// # Guarantees
//
// The package is pure: nothing in it looks at a clock, a store or chance.
//
// # What is not guaranteed
//
// An event says what was seen, not what is so now.
//
// # Failures
//
// None: a call that failed is an event.
//
// # Where it comes from
//
// It was written in each of the packages replica, leader, lease and sync.
package member

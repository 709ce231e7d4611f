// Package locktest holds the suite of locks and semaphores on one store.
//
// # Purpose
//
// [Run] takes what opens handles on a fresh store and plays the same stories on each: taking turns, standing in a line, giving up, dying, with sessions
// and without. A driver's tests call it next to storetest. It takes a few seconds, in most of which it waits for a TTL to pass. [RunVirtual] does the same in
// virtual time, for a store without I/O.
package locktest

// Package locktest holds the suite of locks and semaphores on one store.
//
// # Purpose
//
// [RunVirtual] takes what opens handles on a fresh store, and plays the same stories on each: taking turns, standing in
// a line, giving up, dying, with sessions and without. It does so in virtual time, so the store must do no I/O. [Run]
// plays those of them that a real server has a part in; a driver's tests call it next to storetest. It takes a few
// seconds, in most of which it waits for a TTL to pass.
package locktest

// Package full makes a whole store out of a driver with documents, and leases or vigils and a journal if it has them.
//
// # Purpose
//
// [New] gives the handle that a package of a vendor returns: documents, log, watches and sessions of package engine
// under one life, which ends with Close. Its sessions are leases; those of [NewVigilant] last as long as their process.
// [NewBare] gives one without watches and sessions, for stores that have no leases and are polled; what one of
// [NewEndable] has written another process can end.
//
// # State
//
// That of package engine; the log is named "main".
//
// # Guarantees
//
// All of package store that the driver's promises allow. A handle that was opened for reading refuses each change
// before anything is sent. Close ends the sessions, the watches and the calls that are under way, and returns when no
// call is left. Each error says where the store lies, and why a context has ended.
//
// # What is not guaranteed
//
// A goroutine that appends for a caller who has left may end shortly after Close.
//
// # Failures
//
// Those of package engine. After Close calls return store.ErrClosed, and Put of a session store.ErrSession.
package full

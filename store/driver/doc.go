// Package driver says what a store must be able to do.
//
// # Purpose
//
// A driver translates a few calls into requests of one store: read, swap, free, watch. Package engine makes of them
// what package store promises, once for all stores: documents, a log, snapshots. Package drivertest has the rules below
// in executable form, and package drivermap is the example: a map, on which store/memory runs.
//
// All stores are such drivers. store/kafka has a log alone: its rows are folded from one.
//
// # Outcomes
//
// A call that returns nil is done. [store.ErrUnknown]: it is done, or not, or it may still happen. Any other error
// proves that nothing was changed and nothing will be: [*Conflict], store.ErrTooLarge, store.ErrUnavailable (a later
// try may help), store.ErrReadOnly, store.ErrClosed. In doubt a driver returns ErrUnknown. It never sends a change a
// second time by itself: the engine does, where that is safe.
//
// # Guarantees
//
// Any number of goroutines may call a driver. A call returns soon after its ctx ends, with an error that wraps
// context.Cause(ctx). Bytes that are given to a call stay the caller's; bytes that it returns are the caller's.
//
// # What is not guaranteed
//
// One instant: a read of many keys promises an order only. Order between writes of two keys, unless one was
// acknowledged before the other began.
//
// # Failures
//
// The mistakes that drivers make are in drivertest, in a list of flaws, each with the rule that notices it.
package driver

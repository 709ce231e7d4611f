// Package storetest holds the contracts of package store in executable form, and a store that fails on purpose.
//
// # Purpose
//
// A driver is finished when the suites of the contracts that it claims pass under the race detector:
//
//	func TestDocs(t *testing.T) { storetest.Docs(t, open) }
//
// Each suite takes a constructor of type [Open]: called once per test it makes an empty store, and the function that it
// returns gives one more handle on that store each time, as one more process would have it. The constructor registers its
// own clean-up with t; suites close a handle only where closing is what they test.
//
// # Guarantees
//
// A rule in a comment of package store but not in a suite is not yet a rule. The suites [Docs] and [Log] also record what
// concurrent clients saw and have it checked for linearizability.
//
// # What is not guaranteed
//
// The suites do not fill disks or kill clients: that is for each driver's own tests. Nor do they measure. How long something took is logged where a
// reader may want to know it, and not asserted.
//
// # Networks that break
//
// [Faults], and its parts for each contract, are for drivers of servers. They take an [OpenThrough]: handles that reach the server directly, and
// handles whose connections go over a [Link] which the suite cuts, stalls, and robs of its answers. Each call's error is held against what a witness
// sees: what was said to be done is there once, what was said not to be done never appears, also not later, and the rest is [store.ErrUnknown].
// Clients whose links break at random, from a seed that is printed, have their history checked for linearizability, where a call with an
// unknown outcome may take effect at any time after it began, or never.
//
// # Failures on purpose
//
// [Faulty] wraps a store and, as a function or a [Script] says, refuses calls, loses requests, loses answers and lets
// writes happen late.
package storetest

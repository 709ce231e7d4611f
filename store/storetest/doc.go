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
// The suites do not kill processes, cut networks or fill disks: that is for each driver's own tests. Nor do they measure.
//
// # Failures on purpose
//
// [Faulty] wraps a store and, as a function or a [Script] says, refuses calls, loses requests, loses answers and lets
// writes happen late.
package storetest

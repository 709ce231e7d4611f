// Package storetest holds the contracts of package store in executable form.
//
// # Purpose
//
// A driver is finished when the suites of its contracts pass under the race detector:
//
//	func TestDocs(t *testing.T) { storetest.Docs(t, open) }
//
// Each suite takes a constructor of type [Open]: called once per test it makes an empty store and returns a function.
// Each call of that function returns another handle on the store, like that of another process. The constructor
// registers its own clean-up with t; suites close a handle only if closing is what they test.
//
// # Guarantees
//
// A rule in a comment of package store but not in a suite is not yet a rule. The suites [Docs] and [Log] also record
// what concurrent clients observed, and check it for linearizability.
//
// # What is not guaranteed
//
// The suites do not fill disks or kill clients; each driver has its own tests for that. They do not measure either:
// durations of interest are logged and not asserted.
//
// # Network faults
//
// [Faults], and its parts for each contract, are for drivers of servers. They take an [OpenThrough]: handles that reach
// the server directly, and handles whose connections go through a [Link], on which the suite cuts and stalls
// connections and drops answers. The suite compares each call's error with what a witness sees: a change reported as
// done is there once, one reported as not done never appears, and the rest must be [store.ErrUnknown]. Clients whose
// links break at random, from a printed seed, have their history checked for linearizability. There, a call with an
// unknown outcome may take effect at any time after it began, or never.
package storetest

// Package drivertest holds the rules of package driver in executable form.
//
// # Purpose
//
// Who writes a driver runs [Documents] over it under the race detector:
//
//	func TestDriver(t *testing.T) { drivertest.Documents(t, drivertest.Setup{Open: open, Through: through}) }
//
// [Journals] is the suite of a store that orders logs by itself, [Vigils] of one that sees the end of a process. The
// example of each is in package drivermap.
//
// # Guarantees
//
// The tests of this package run the suite over drivers that make one mistake each: keys read in another order, versions
// that come back, a change that is sent twice, an answer that is wrong about what happened, indexes that are given
// again. The suites fail for each of them.
//
// # What is not guaranteed
//
// What only real servers do: failover, frozen leaders, full disks. Those tests are in the folder of the store, under
// proof.
package drivertest

// Package rig has what the tests of all stores on real servers share.
//
// # Purpose
//
// A test of a store on a real server opens a handle on a machine that may be busy, breaks the link to the server, waits
// for what no signal announces, and runs the stories of a protocol over such links. All of that is the same for etcd,
// NATS and ZooKeeper, and is written here once.
//
// # Guarantees
//
// Every wait ends: after [Patience], or [LongPatience], the test fails and says what it waited for. What a function
// opens is closed when the test ends, unless its comment says otherwise.
package rig

// Package etcd starts etcd servers on this machine, for tests and for the demo.
//
// # Purpose
//
// [Start] runs one to many members of a fresh cluster inside this process. [StartCluster] runs each member as a process of its own, which can be
// killed with [Cluster.Kill], as kill -9 does, and started again with its data on the same ports: for that the program calls [Child] before
// anything else.
//
//	func TestMain(m *testing.M) {
//		if etcd.Child() {
//			return
//		}
//		...
//	}
//
// # Guarantees
//
// Servers listen on the loopback address alone, on ports that were free a moment before. They keep nothing outside of Options.Dir, and log
// nothing. A member's process ends when the one that started it ends, however that ends.
//
// # What is not guaranteed
//
// On other systems than Linux a port may be taken by somebody else between being found and being used; then the start is tried again with other ports, a few times. These
// servers are for one machine: they have no defaults that a production cluster should have.
package etcd

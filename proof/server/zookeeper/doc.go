// Package zookeeper starts ZooKeeper servers for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts one server or an ensemble of three on ports of the loopback interface;
// tests kill and restart its members, and ask who leads. With an address in [Variable] the tests use those servers instead, which they cannot kill.
//
// # What is needed
//
// java (11 or newer), and mvn the first time: the servers' jars are resolved once, by a pinned list of dependencies, into the user's cache folder.
// Where they are missing, Start returns a [MissingError], and a test says loudly that it did not run.
package zookeeper

// Package zookeeper starts ZooKeeper servers for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts one server or an ensemble of three on ports of the loopback interface. Tests kill and
// restart the servers, and ask which one leads. With addresses in [Variable] tests use those servers instead, and cannot kill them.
//
// # What is needed
//
// java (11 or newer), and the servers' jars: in the folder of [JarsVariable], or resolved once by mvn, from a pinned list of dependencies, into the user's
// cache folder. .ci/zookeeper installs what a machine lacks. Where something is missing, Start returns a [MissingError]; see [Require].
package zookeeper

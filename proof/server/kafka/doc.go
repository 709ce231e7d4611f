// Package kafka starts Kafka brokers for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts one broker or a cluster of three on ports of the loopback interface; each is its own
// controller too. Tests kill, freeze and restart the brokers, and ask which one leads a partition. With addresses in [Variable] tests use those brokers instead,
// and cannot kill them.
//
// # What is needed
//
// java (17 or newer), and the brokers' jars: in the folder of [JarsVariable], or resolved once by mvn, from a pinned list of dependencies, into the user's
// cache folder. .ci/kafka installs what a machine lacks. [Consumed] needs one jar more, with the commands of Kafka. Where something is missing, Start returns a
// [MissingError]; see [Require]. Beside the jars lies a template: what the formatting of a broker's folder writes, and an archive of loaded classes, which
// halves the time that a broker needs to start.
package kafka

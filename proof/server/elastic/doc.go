// Package elastic starts servers of Elasticsearch and OpenSearch for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts one node or three on ports of the loopback interface. Tests kill and restart the
// nodes, and ask which one has the primary. With an address in the variable of a [Kind] tests use that server instead, and cannot kill it.
//
// # What is needed
//
// java (17 or newer), and the unpacked servers: in the folder of [HomeVariable], or resolved once by mvn into the user's cache folder. .ci/elastic installs
// what a machine lacks. Where something is missing, Start returns a [MissingError]; see [Require].
package elastic

// Package postgres starts PostgreSQL servers for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts a server with a database of its own on a port of the loopback interface. Tests kill it,
// suspend it and start it again. With an address in [Variable] tests use that server instead, and cannot kill it.
//
// # What is needed
//
// The programs initdb and postgres, from the distribution's packages: in the PATH, or where Debian's packages put them. .ci/postgres installs what a machine
// lacks. PostgreSQL refuses to run as root: then it runs as the user postgres that the package makes, in a temporary folder of that user. Where something is
// missing, Start returns a [MissingError]; see [Require].
package postgres

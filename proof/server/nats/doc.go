// Package nats runs NATS servers with JetStream on this machine: in this process, or as processes that can be killed.
//
// # Purpose
//
// Tests and `rota demo` need a server that is there without being installed. [Start] runs one node, or a cluster of three, inside of the
// process. [Spawn] runs the same nodes as processes of their own, made of the program that calls it: it must begin with [Child].
//
// # Guarantees
//
// Nodes listen on the loopback alone, on ports that the system chose, and write to the directory given. Each write reaches the disk before it
// is acknowledged (sync_interval: always), unless Options.NoSync is set. A node that is started again has its port and its data.
//
// # What is not guaranteed
//
// There is neither a password nor TLS: whoever can reach the loopback of this machine can use the server. On other systems
// than Linux a port that the system chose can be taken by somebody else before the node listens; then starting fails.
package nats

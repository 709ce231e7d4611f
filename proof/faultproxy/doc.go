// Package faultproxy is a TCP proxy between a client and a server of which a test breaks the network.
//
// # Purpose
//
// What a client makes of a lost answer, a connection cut in the middle of a request, or a peer that is silent without being gone, shows only
// when it happens. [Listen] stands between the two on a loopback port, in user space, without rights and without a tool that has to be installed;
// the test says when what breaks.
//
// # Guarantees
//
// A method that breaks something returns once it holds: after [Proxy.Stall] returned, no byte passes that had not passed before; after
// [Proxy.Cut] returned, every connection is reset and its sockets are closed. Bytes of one direction of a connection never change their order, and
// none is lost without its connection being reset before the next one would pass. The end of a stream and a reset are subject to the same faults as
// bytes: behind a stall nobody learns that the other side is gone.
//
// What a client sent into a stall and then gave up (closed its connection) arrives when the stall ends, as it may on a real network.
//
// # What is not guaranteed
//
// The handshake of a new connection is answered by this machine's kernel, so a stalled server can still be connected to. Losses, doubling and
// reordering of packets do not exist above TCP. Whether the other side reads what it was sent just before a reset is up to its kernel.
package faultproxy

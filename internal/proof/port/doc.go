// Package port finds ports for servers, and keeps them while a server is not there.
//
// # Purpose
//
// A test kills a server and starts it again on its port. Meanwhile the system may give that port to anybody who asks
// for any: with some thousand tests beside each other that happens now and then. [Keep] has a socket stand there that
// does not listen. Who connects is refused as before, and to listen there is allowed: both sockets say that they share
// their address, as those of package net and of most servers do. [Find] finds a port in this way, so that nobody gets
// it before the server that is told of it listens.
//
// # What is not guaranteed
//
// Somebody who wants this very port gets it. On other systems than Linux nothing is kept.
package port

// Package lease is the protocol lease for programs that choose how their members agree: rota.Config{Protocol:
// lease.Protocol{}}.
//
// # Purpose
//
// What is to be done is in documents, and members claim them by conditional writes. Any store with versioned documents
// will do.
//
// How its members work, and what it guarantees, is in package internal/protocol/lease, which only this module may
// import.
package lease

import "github.com/rota-run/rota/internal/protocol/lease"

// Protocol is lease as one of the ways to agree. It implements protocol.Protocol, and its zero value is ready.
type Protocol = lease.Protocol

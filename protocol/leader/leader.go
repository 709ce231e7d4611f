// Package leader is the protocol leader for programs that choose how their members agree: rota.Config{Protocol:
// leader.Protocol{}}.
//
// # Purpose
//
// An elected leader alone appends to the log, and offers tasks; members acknowledge them. Their memory and traffic do
// not grow with the cluster.
//
// How its members work, and what it guarantees, is in package internal/protocol/leader, which only this module may
// import.
package leader

import "github.com/rota-run/rota/internal/protocol/leader"

// Protocol is leader as one of the ways to agree. It implements protocol.Protocol, and its zero value is ready.
type Protocol = leader.Protocol

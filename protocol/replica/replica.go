// Package replica is the protocol replica for programs that choose how their members agree: rota.Config{Protocol:
// replica.Protocol{}}.
//
// # Purpose
//
// Every member folds the same log, and so holds the same value. It is the default, and needs a store with a log.
//
// How its members work, and what it guarantees, is in package internal/protocol/replica, which only this module may
// import.
package replica

import "github.com/rota-run/rota/internal/protocol/replica"

// Protocol is replica as one of the ways to agree. It implements protocol.Protocol, and its zero value is ready.
type Protocol = replica.Protocol

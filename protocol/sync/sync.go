// Package sync is the protocol sync for programs that choose how their members agree: rota.Config{Protocol:
// sync.Protocol{}}.
//
// # Purpose
//
// Membership is that of a group of the store, and all else is said in one topic. It needs a store with a log and
// groups, as Kafka is.
//
// How its members work, and what it guarantees, is in package internal/protocol/sync, which only this module may
// import.
package sync

import "github.com/rota-run/rota/internal/protocol/sync"

// Protocol is sync as one of the ways to agree. It implements protocol.Protocol, and its zero value is ready.
type Protocol = sync.Protocol

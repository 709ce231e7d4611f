package rig

import (
	"testing"

	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
)

// protocols are those that run on each store.
func protocols() map[string]protocol.Protocol {
	return map[string]protocol.Protocol{"replica": replica.Protocol{}, "leader": leader.Protocol{},
		"lease": lease.Protocol{}}
}

// Stories runs the stories of each protocol on a real server. A member that crashes leaves documents that must expire.
// A link that holds all bytes makes the store unavailable.
func Stories(t *testing.T, members func(protocol.Protocol) protocoltest.Setup) {
	for name, p := range protocols() { // order-free: each is a test of its own
		t.Run(name, func(t *testing.T) { t.Parallel(); protocoltest.Run(t, members(p)) })
	}
}

// Storms runs members of each protocol whose links to a real server break at random.
func Storms(t *testing.T, members func(protocol.Protocol) protocoltest.Setup) {
	for name, p := range protocols() { // order-free: each is a test of its own
		t.Run(name, func(t *testing.T) { t.Parallel(); protocoltest.Storm(t, members(p)) })
	}
}

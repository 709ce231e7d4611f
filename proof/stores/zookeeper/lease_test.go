package zookeeper_test

import (
	"testing"

	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/protocoltest"
)

// TestStoriesOfLease runs the stories of the protocol of claims.
func TestStoriesOfLease(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, members(lease.Protocol{}, servers(t)))
}

// TestStormOfLease runs its members whose links to a real server break at random.
func TestStormOfLease(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, members(lease.Protocol{}, servers(t)))
}

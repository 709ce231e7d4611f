package postgres_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/protocoltest"
)

// TestStoriesOfLease runs the stories of the protocol of claims.
func TestStoriesOfLease(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: membersOf(lease.Protocol{}), TTL: 2 * time.Second})
}

// TestStormOfLease runs its members whose links to a real server break at random.
func TestStormOfLease(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: membersOf(lease.Protocol{}), TTL: 2 * time.Second})
}

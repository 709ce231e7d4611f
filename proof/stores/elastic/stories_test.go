package elastic_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/protocol/protocoltest"
)

func TestStories(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Run(t, s.place().Members(replica.Protocol{})) })
}

// TestStorm runs members whose links to a real server break at random.
func TestStorm(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Storm(t, s.place().Members(replica.Protocol{})) })
}

// TestStoriesOfLease runs the stories of the protocol of claims.
func TestStoriesOfLease(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		setup := s.place().Members(lease.Protocol{})
		setup.TTL = 4 * time.Second
		protocoltest.Run(t, setup)
	})
}

// TestStormOfLease runs its members whose links to a real server break at random.
func TestStormOfLease(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Storm(t, s.place().Members(lease.Protocol{})) })
}

func TestLocks(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { locktest.Run(t, s.place().Empty) })
}

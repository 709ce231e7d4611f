package elastic_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/elastic"
)

// setup opens members of one store, each over a link of its own.
func (s *shared) setup(t *testing.T, p protocol.Protocol, ttl time.Duration) protocoltest.Setup {
	return protocoltest.Setup{TTL: ttl, Open: rig.Members(p, s.servers(t), func(t *testing.T) func(t *testing.T, addr string) *elastic.Store {
		o := s.options(t)
		return func(t *testing.T, addr string) *elastic.Store {
			return rig.Opened(t, opening(through(o, addr)))
		}
	})}
}

func TestStories(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Run(t, s.setup(t, replica.Protocol{}, 2*time.Second)) })
}

// TestStorm runs members whose links to a real server break at random.
func TestStorm(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Storm(t, s.setup(t, replica.Protocol{}, 2*time.Second)) })
}

// TestStoriesOfLease runs the stories of the protocol of claims.
func TestStoriesOfLease(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Run(t, s.setup(t, lease.Protocol{}, 4*time.Second)) })
}

// TestStormOfLease runs its members whose links to a real server break at random.
func TestStormOfLease(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Storm(t, s.setup(t, lease.Protocol{}, 2*time.Second)) })
}

func TestLocks(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { locktest.Run(t, s.fresh) })
}

package etcd_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/etcd"
)

// TestStories runs the stories of a protocol on a real server.
func TestStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: members(replica.Protocol{}), TTL: 2 * time.Second})
}

// TestStorm runs members whose links to a real server break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: members(replica.Protocol{}), TTL: 2 * time.Second})
}

// TestStoriesUnderLeader runs the stories with another protocol.
func TestStoriesUnderLeader(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: members(leader.Protocol{}), TTL: 2 * time.Second})
}

// TestStormUnderLeader runs members whose links to a real server break at random.
func TestStormUnderLeader(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: members(leader.Protocol{}), TTL: 2 * time.Second})
}

func TestLocks(t *testing.T) { t.Parallel(); locktest.Run(t, fresh) }

// members opens members of one cluster on the shared server.
func members(p protocol.Protocol) func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		return rig.Members(p, shared.Endpoints(), func(*testing.T) func(*testing.T, string) *etcd.Store {
			o := options()
			return func(t *testing.T, addr string) *etcd.Store { return rig.Opened(t, opening(through(o, addr))) }
		})(t)
	}
}

// TestStoriesOfLease runs the stories of the protocol of claims.
func TestStoriesOfLease(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: members(lease.Protocol{}), TTL: 2 * time.Second})
}

// TestStormOfLease runs its members whose links to a real server break at random.
func TestStormOfLease(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: members(lease.Protocol{}), TTL: 2 * time.Second})
}

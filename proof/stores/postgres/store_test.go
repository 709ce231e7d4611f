package postgres_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/postgres"
	"github.com/rota-run/rota/store/storetest"
)

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }
func TestLocks(t *testing.T)    { t.Parallel(); locktest.Run(t, fresh) }

// TestFaults runs the suite of a network that breaks.
func TestFaults(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, func(t *testing.T) storetest.Reach[*postgres.Store] {
		o := options(t)
		return rig.Reach(o.Hosts, func(t *testing.T, hosts []string) *postgres.Store { return openWith(t, through(o, hosts...)) })
	})
}

// TestStories runs the stories of a protocol on a real server.
func TestStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: membersOf(replica.Protocol{}), TTL: 2 * time.Second})
}

// TestStorm runs members whose links to a real server break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: membersOf(replica.Protocol{}), TTL: 2 * time.Second})
}

// membersOf opens members of one cluster on the shared server.
func membersOf(p protocol.Protocol) func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		return rig.Members(p, []string{standing(t).Addr()}, func(t *testing.T) func(*testing.T, string) *postgres.Store {
			o := options(t)
			return func(t *testing.T, addr string) *postgres.Store { return rig.Opened(t, opening(through(o, addr))) }
		})(t)
	}
}

package postgres_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
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

func TestStories(t *testing.T) { t.Parallel(); rig.Stories(t, members) }
func TestStorm(t *testing.T)   { t.Parallel(); rig.Storms(t, members) }

// members opens members of one cluster on the shared server.
func members(p protocol.Protocol) protocoltest.Setup {
	return protocoltest.Setup{TTL: 2 * time.Second, Open: func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		return rig.Members(p, []string{standing(t).Addr()}, func(t *testing.T) func(*testing.T, string) *postgres.Store {
			o := options(t)
			return func(t *testing.T, addr string) *postgres.Store { return rig.Opened(t, opening(through(o, addr))) }
		})(t)
	}}
}

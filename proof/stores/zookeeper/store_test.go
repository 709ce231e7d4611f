package zookeeper_test

import (
	"testing"

	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/storetest"
	"github.com/rota-run/rota/store/zookeeper"
)

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, place.Empty) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, place.Empty) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, place.Empty) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, place.Empty) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, place.Empty) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, place.Empty) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, place.Empty) }
func TestLocks(t *testing.T)    { t.Parallel(); locktest.Run(t, place.Empty) }
func TestStories(t *testing.T)  { t.Parallel(); rig.Stories(t, place.Members) }
func TestStorm(t *testing.T)    { t.Parallel(); rig.Storms(t, place.Members) }

// quorate makes stores whose reads wait for a quorum.
func quorate(t *testing.T) func(t *testing.T) *zookeeper.Store {
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t), QuorumReads: true}
	return func(t *testing.T) *zookeeper.Store { return openWith(t, o) }
}

func TestDocsByQuorum(t *testing.T) { t.Parallel(); storetest.Docs(t, quorate) }
func TestLogByQuorum(t *testing.T)  { t.Parallel(); storetest.Log(t, quorate) }

// TestOnThreeServers runs suites whose handles are each connected to one of three servers, so that they read through
// other servers than they write.
func TestOnThreeServers(t *testing.T) {
	t.Parallel()
	addrs := threeServers(t).Servers()
	spread := func(t *testing.T) func(t *testing.T) *zookeeper.Store {
		path, n := freshPath(t), 0
		return func(t *testing.T) *zookeeper.Store {
			n++
			return openWith(t, zookeeper.Options{Servers: addrs[n%3 : n%3+1], Path: path})
		}
	}
	t.Run("docs", func(t *testing.T) { t.Parallel(); storetest.Docs(t, spread) })
	t.Run("log", func(t *testing.T) { t.Parallel(); storetest.Log(t, spread) })
	t.Run("watch", func(t *testing.T) { t.Parallel(); storetest.Watch(t, spread) })
	t.Run("sessions", func(t *testing.T) { t.Parallel(); storetest.Sessions(t, spread) })
}

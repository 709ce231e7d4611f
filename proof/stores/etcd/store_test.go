package etcd_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/storetest"
)

// shared is the server of all tests that need nothing special; each has its own prefix.
var (
	shared   *server.Cluster
	prefixes atomic.Int64
)

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	os.Exit(rig.Main(m, func(ctx context.Context, dir string) (_ *server.Cluster, err error) {
		// In a process of its own: what the server does while it starts is a data race with the beginning of the tests.
		shared, err = server.StartCluster(ctx, server.Options{Dir: dir, NoSync: os.Getenv("ROTA_ETCD_SYNC") == ""})
		return shared, err
	}))
}

// place is how tests reach the shared server, or another one.
var place = rig.Place[etcd.Options, *etcd.Store]{
	Open: etcd.Open, TTL: 2 * time.Second,
	Fresh: func(testing.TB) etcd.Options { return options() },
	Hosts: func(o etcd.Options) []string { return o.Endpoints },
	At:    through,
}

// options are those of a store of its own on the shared server.
func options() etcd.Options {
	return etcd.Options{Endpoints: shared.Endpoints(), Prefix: fmt.Sprintf("test/%d", prefixes.Add(1)),
		Timeout: 20 * time.Second}
}

// onServer are the options of a store on a server that belongs to the test alone.
func onServer(t *testing.T, so server.Options) etcd.Options {
	t.Helper()
	so.NoSync = true
	return through(options(), startCluster(t, so).Endpoints()...)
}

// startCluster starts servers in processes of their own, which belong to the test alone.
func startCluster(t *testing.T, so server.Options) *server.Cluster {
	t.Helper()
	so.Dir = t.TempDir()
	c := must.Get(server.StartCluster(rig.Deadline(t), so))(t)
	t.Cleanup(c.Stop)
	return c
}

// through returns options of the same store, which is reached through other addresses.
func through(o etcd.Options, endpoints ...string) etcd.Options {
	o.Endpoints = endpoints
	return o
}

func openWith(t testing.TB, o etcd.Options) *etcd.Store { t.Helper(); return place.With(t, o) }

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
func TestFaults(t *testing.T)   { t.Parallel(); storetest.Faults(t, place.Reach) }

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with
// its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	place.Crashes(t, func(t *testing.T) (etcd.Options, func(*testing.T)) {
		c := startCluster(t, server.Options{})
		return through(options(), c.Endpoints()...), func(t *testing.T) {
			c.Kill(0)
			must.Succeed(t, c.Restart(rig.Deadline(t), 0))
		}
	})
}

// TestLeaderKilled kills the leader of three members with SIGKILL, again and again, while clients write. What the
// clients saw must fit one order, and nothing that was acknowledged may be missing.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	place.Crashes(t, func(t *testing.T) (etcd.Options, func(*testing.T)) {
		c := startCluster(t, server.Options{Nodes: 3, NoSync: true})
		return through(options(), c.Endpoints()...), func(t *testing.T) {
			leader := must.Get(c.Leader(rig.Deadline(t)))(t)
			c.Kill(leader)
			must.Succeed(t, must.Err(c.Leader(rig.Deadline(t)))) // the two others go on meanwhile
			must.Succeed(t, c.Restart(rig.Deadline(t), leader))
		}
	})
}

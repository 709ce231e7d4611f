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
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
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
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rota-etcd")
	if err == nil {
		defer os.RemoveAll(dir)
		ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
		defer cancel()
		// In a process of its own: what the server does while it starts is a data race with the beginning of the tests.
		shared, err = server.StartCluster(ctx, server.Options{Dir: dir, NoSync: os.Getenv("ROTA_ETCD_SYNC") == ""})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	shared.Stop()
	if err := rig.Leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// options are those of a store of its own on the shared server.
func options() etcd.Options {
	return etcd.Options{Endpoints: shared.Endpoints(), Prefix: fmt.Sprintf("test/%d", prefixes.Add(1)), Timeout: 20 * time.Second}
}

// onServer are the options of a store on a server that belongs to the test alone.
func onServer(t *testing.T, so server.Options) etcd.Options {
	t.Helper()
	so.NoSync = true
	return on(startCluster(t, so))
}

// startCluster starts servers in processes of their own, which belong to the test alone.
func startCluster(t *testing.T, so server.Options) *server.Cluster {
	t.Helper()
	so.Dir = t.TempDir()
	c, err := server.StartCluster(rig.Deadline(t), so)
	must.Succeed(t, err)
	t.Cleanup(c.Stop)
	return c
}

// on are the options of a store on a cluster.
func on(c *server.Cluster) etcd.Options { return through(options(), c.Endpoints()...) }

// through returns options of the same store, which is reached through other addresses.
func through(o etcd.Options, endpoints ...string) etcd.Options {
	o.Endpoints = endpoints
	return o
}

func opening(o etcd.Options) func(context.Context) (*etcd.Store, error) {
	return func(ctx context.Context) (*etcd.Store, error) { return etcd.Open(ctx, o) }
}

func openWith(t testing.TB, o etcd.Options) *etcd.Store {
	t.Helper()
	return rig.Open(t, opening(o))
}

func fresh(*testing.T) func(t *testing.T) *etcd.Store {
	o := options()
	return func(t *testing.T) *etcd.Store { return openWith(t, o) }
}

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }
func TestLocks(t *testing.T)    { t.Parallel(); locktest.Run(t, fresh) }
func TestStories(t *testing.T)  { t.Parallel(); rig.Stories(t, members) }
func TestStorm(t *testing.T)    { t.Parallel(); rig.Storms(t, members) }

// members opens members of one cluster on the shared server.
func members(p protocol.Protocol) protocoltest.Setup {
	open := func(*testing.T) func(*testing.T, string) *etcd.Store {
		o := options()
		return func(t *testing.T, addr string) *etcd.Store { return rig.Opened(t, opening(through(o, addr))) }
	}
	return protocoltest.Setup{TTL: 2 * time.Second, Open: rig.Members(p, shared.Endpoints(), open)}
}

// reach opens handles on one store.
func reach(o etcd.Options) storetest.Reach[*etcd.Store] {
	return rig.Reach(o.Endpoints, func(t *testing.T, endpoints []string) *etcd.Store { return openWith(t, through(o, endpoints...)) })
}

func TestFaults(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, func(*testing.T) storetest.Reach[*etcd.Store] { return reach(options()) })
}

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*etcd.Store] {
		c := startCluster(t, server.Options{})
		r := reach(on(c))
		r.Crash = func(t *testing.T) {
			c.Kill(0)
			must.Succeed(t, c.Restart(rig.Deadline(t), 0))
		}
		return r
	})
}

// TestLeaderKilled kills the leader of three members with SIGKILL, again and again, while clients write. What the clients saw must fit one order, and
// nothing that was acknowledged may be missing.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*etcd.Store] {
		c := startCluster(t, server.Options{Nodes: 3, NoSync: true})
		r := reach(on(c))
		r.Crash = func(t *testing.T) {
			leader, err := c.Leader(rig.Deadline(t))
			must.Succeed(t, err)
			c.Kill(leader)
			if _, err := c.Leader(rig.Deadline(t)); err != nil { // the two others go on meanwhile
				t.Fatal(err)
			}
			must.Succeed(t, c.Restart(rig.Deadline(t), leader))
		}
		return r
	})
}

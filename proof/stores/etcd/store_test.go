package etcd_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine/full"
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

func openDriver(t testing.TB, o etcd.Options) full.Driver {
	t.Helper()
	return rig.Driver(t, etcd.OpenDriver, o)
}

// newest is the revision of the newest change below the prefix.
func (r raw) newest(t *testing.T) any {
	got, err := r.Get(rig.Deadline(t), r.prefix, clientv3.WithLastRev()...)
	if err != nil || len(got.Kvs) == 0 {
		return 0
	}
	return got.Kvs[0].ModRevision
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) {
	t.Parallel()
	newest := func(t *testing.T, o etcd.Options) func() any {
		below := rawOf(t, o)
		return func() any { return below.newest(t) }
	}
	rig.Documents(t, place, etcd.OpenDriver, func(t *testing.T) (_, _ full.Driver, _ drivertest.Link) {
		return rig.ThroughLink(t, place, etcd.OpenDriver, func(o *etcd.Options) { o.Timeout = 2 * time.Second }, newest)
	})
}

// What package etcd documents about itself.
const (
	chunkBytes = 1 << 20 // of a snapshot

)

// bare returns a client with nothing around it.
func bare(t testing.TB, endpoints []string) *clientv3.Client {
	t.Helper()
	c := must.Get(clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()}))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// raw is a bare client that names the keys of a store, as the documentation of package etcd lays them out.
type raw struct {
	*clientv3.Client
	prefix string // with "/" at its end
}

func rawOf(t testing.TB, o etcd.Options) raw {
	t.Helper()
	return raw{bare(t, o.Endpoints), o.Prefix + "/"}
}

func (r raw) docs() string { return r.prefix + "d/" }

func (r raw) records() string { return r.prefix + "l/main/p/" }

// count returns the number of keys below a prefix.
func (r raw) count(t testing.TB, prefix string) int64 {
	t.Helper()
	got := must.Get(r.Get(rig.Deadline(t), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()))(t)
	return got.Count
}

// revision returns the revision of the whole server. It grows by one with each transaction that changes something.
func (r raw) revision(t testing.TB) int64 {
	t.Helper()
	got := must.Get(r.Get(rig.Deadline(t), r.prefix, clientv3.WithCountOnly()))(t)
	return got.Header.Revision
}

// TestWatchOutlivesItsHistory writes while a watch is cut off, and lets the server forget the history of that.
func TestWatchOutlivesItsHistory(t *testing.T) {
	t.Parallel()
	o := onServer(t, server.Options{}) // other tests on the shared server need its history
	link := rig.Link(t, o.Endpoints[0])
	direct, s, r := openWith(t, o), openWith(t, through(o, link.Addr())), rawOf(t, o)
	ctx := rig.Deadline(t)
	hints, err := s.Watch(ctx, "w/")
	must.Succeed(t, err)
	rig.Hinted(t, hints)
	var v store.Version
	for range 3 {
		link.Cut()
		v = must.Get(direct.Put(ctx, store.Doc{Key: "w/a", Version: v}))(t)
		must.Succeed(t, must.Err(r.Compact(ctx, r.revision(t))))
		rig.Heal(t, link)
		rig.Hinted(t, hints)
	}
}

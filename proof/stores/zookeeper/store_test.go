package zookeeper_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/storetest"
	"github.com/rota-run/rota/store/zookeeper"
)

// standing is the server that most tests use, each below its own path; three are servers of one cluster, for tests that
// leave them as they were.
var standing, three = sharing(1), sharing(3)

func sharing(nodes int) *rig.Shared[*server.Cluster] {
	return &rig.Shared[*server.Cluster]{
		Start: func(ctx context.Context) (*server.Cluster, error) {
			return server.Start(ctx, server.Options{Nodes: nodes})
		},
		Require: server.Require,
	}
}

func TestMain(m *testing.M) { os.Exit(standing.Run(m, three)) }

// servers returns the addresses of the shared server.
func servers(t testing.TB) []string { return standing.Server(t).Servers() }

// ownServers starts servers that the test may kill.
func ownServers(t testing.TB, o server.Options) *server.Cluster {
	t.Helper()
	return rig.Own(t, server.Variable, server.Require,
		func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, o) })
}

// threeServers are servers that tests share, and may kill if they start them again.
func threeServers(t testing.TB) *server.Cluster {
	t.Helper()
	rig.MayKill(t, server.Variable)
	return three.Server(t)
}

// freshPath returns a path that no other test uses.
func freshPath(testing.TB) string { return "/rota-tests/" + standing.Name() }

// place is how tests reach the shared server, or another one. Handles behind a link have short sessions.
var place = rig.Place[zookeeper.Options, *zookeeper.Store]{
	Open: zookeeper.Open, TTL: 2 * time.Second,
	Fresh: func(t testing.TB) zookeeper.Options {
		return zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	},
	Hosts: func(o zookeeper.Options) []string { return o.Servers },
	At: func(o zookeeper.Options, servers ...string) zookeeper.Options {
		o.Servers, o.Session = servers, 2*time.Second
		return o
	},
}

func openWith(t testing.TB, o zookeeper.Options) *zookeeper.Store {
	t.Helper()
	return place.With(t, o)
}

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

func openDriver(t testing.TB, o zookeeper.Options) full.Driver {
	t.Helper()
	return rig.Driver(t, zookeeper.OpenDriver, o)
}

// state is the version of what the tests of drivers write.
func (n nodes) state() any {
	_, stat, err := n.Get(n.below("rows/+/k"))
	if err != nil {
		return 0
	}
	return stat.Mzxid
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) {
	t.Parallel()
	hurry := func(o *zookeeper.Options) { o.Timeout = 2 * time.Second }
	newest := func(t *testing.T, o zookeeper.Options) func() any { return nodesOf(t, o).state }
	rig.Documents(t, place, zookeeper.OpenDriver, func(t *testing.T) (witness, through full.Driver, l drivertest.Link) {
		witness, through, l = rig.ThroughLink(t, place, zookeeper.OpenDriver, hurry, newest)
		// It makes the folder that the tests write in.
		must.Succeed(t, must.Err(witness.Swap(rig.Deadline(t),
			driver.Op{Key: "other", Name: "test", Value: []byte("x")})))
		return witness, through, l
	})
}

// TestWhatIsKnownIsInOrder reads a row that is watched behind one that is not. Both are raised while the request for
// the first is on its way, so what was known of the other when it left is too old.
func TestWhatIsKnownIsInOrder(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t), Session: time.Minute}, rig.Deadline(t)
	writer, tap := openDriver(t, o), listenTap(t, o.Servers[0])
	at := map[string]driver.Version{}
	raise := func(value string) {
		for _, key := range []string{"w/a", "c"} {
			v, err := writer.Swap(ctx, driver.Op{Key: key, Name: "test", If: at[key], Value: []byte(value)})
			if at[key] = v; err != nil {
				t.Error(err)
			}
		}
	}
	raise("1")
	o.Servers = []string{tap.addr()}
	reader := openDriver(t, o)
	go func() { _ = reader.Watch(ctx, "w/", func() {}) }() // ends with the handle
	rig.Eventually(t, "what is armed is not asked for", func() bool {
		before := tap.counts()
		must.Succeed(t, must.Err(reader.Read(ctx, driver.Query{Keys: []string{"c", "w/a"}})))
		return tap.since(before)[opGetData] == 1
	})
	var once sync.Once
	tap.on(opGetData, func() { once.Do(func() { raise("2") }) })
	rows := must.Get(reader.Read(ctx, driver.Query{Keys: []string{"c", "w/a"}}))(t)
	if c, a := string(rows.Keys[0].Value), string(rows.Keys[1].Value); c != "2" || a != "2" {
		t.Errorf("c was read at %s, and a behind it at %s; want 2 and 2", c, a)
	}
}

// The nodes below a store's path; see State in the comment of package store/zookeeper.
const (
	rowsNode = "rows"
	headNode = rowsNode + "/+l+main/head"
)

// raw connects the bare client.
func raw(t testing.TB, addrs []string, session time.Duration) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(addrs, session, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	for ctx := rig.Deadline(t); c.State() != zk.StateHasSession; {
		select {
		case <-events:
		case <-ctx.Done():
			t.Fatalf("connect the bare client to %v: %v", addrs, ctx.Err())
		}
	}
	return c
}

// silent drops what the bare client logs.
type silent struct{}

func (silent) Printf(string, ...any) {}

// nodes looks at a store's nodes, and changes them, as any other client can.
type nodes struct {
	*zk.Conn
	path string // of the store
}

// nodesOf connects to the nodes of the store that o opens.
func nodesOf(t testing.TB, o zookeeper.Options) nodes {
	t.Helper()
	return nodes{raw(t, o.Servers, 10*time.Second), o.Path}
}

// below returns the path of a node of the store.
func (n nodes) below(name string) string { return n.path + "/" + name }

// remove deletes a node, which may be gone already.
func (n nodes) remove(t testing.TB, path string) {
	t.Helper()
	if err := n.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
}

// create makes a node that anybody may change.
func (n nodes) create(t testing.TB, path string, data []byte, flags int32) {
	t.Helper()
	must.Succeed(t, must.Err(n.Create(path, data, flags, zk.WorldACL(zk.PermAll))))
}

package zookeeper_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/zookeeper"
)

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
	drivertest.Documents(t, drivertest.Setup{
		Open: rig.Drivers(place, zookeeper.OpenDriver, func(d full.Driver) drivertest.Documenter { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
			witness, through, l = rig.ThroughLink(t, place, zookeeper.OpenDriver, hurry, newest)
			// It makes the folder that the tests write in.
			must.Succeed(t, must.Err(witness.Swap(rig.Deadline(t),
				driver.Op{Key: "other", Name: "test", Value: []byte("x")})))
			return witness, through, l
		},
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

package zookeeper_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/zookeeper"
)

func openDriver(t testing.TB, o zookeeper.Options) full.Driver {
	t.Helper()
	d, err := zookeeper.OpenDriver(rig.Deadline(t), o)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// driverLink is a link between one handle and the server.
type driverLink struct {
	t     *testing.T
	proxy *faultproxy.Proxy
	below nodes
	fault drivertest.Fault
	over  sync.WaitGroup
}

// Next implements drivertest.Link. A request that is held is lost or late by what Arrive does with it.
func (l *driverLink) Next(f drivertest.Fault, meanwhile func()) {
	l.fault = f
	if f != drivertest.LostReply {
		l.proxy.StallRequests()
		meanwhile()
		return
	}
	before := l.state()
	l.proxy.DropReplies()
	l.over.Go(func() {
		rig.Eventually(l.t, "the server has executed it", func() bool { return l.state() != before })
		meanwhile()
		l.proxy.Reset()
	})
}

// state is the version of what the tests write.
func (l *driverLink) state() int64 {
	_, stat, err := l.below.Get(l.below.below("rows/+/k"))
	if err != nil {
		return 0
	}
	return stat.Mzxid
}

// Arrive implements drivertest.Link.
func (l *driverLink) Arrive() {
	l.over.Wait()
	if l.fault == drivertest.LostRequest {
		l.proxy.Reset()
	}
	rig.Heal(l.t, l.proxy)
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{
		Open: func(t *testing.T) func() drivertest.Documenter {
			o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
			return func() drivertest.Documenter { return openDriver(t, o) }
		},
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
			o := zookeeper.Options{Servers: servers(t), Path: freshPath(t), Session: 2 * time.Second}
			w := openDriver(t, o)
			_, err := w.Swap(rig.Deadline(t), driverOp("other"))
			must.Succeed(t, err)
			below := nodesOf(t, o)
			proxy := rig.Link(t, o.Servers[0])
			o.Servers, o.Timeout = []string{proxy.Addr()}, 2*time.Second
			return w, openDriver(t, o), &driverLink{t: t, proxy: proxy, below: below}
		},
	})
}

// driverOp creates a row, and with it the folder that the tests write in.
func driverOp(key string) driver.Op { return driver.Op{Key: key, Name: "test", Value: []byte("x")} }

// TestWhatIsKnownIsInOrder reads a row that is watched behind one that is not. Both are raised while the request for the
// first is on its way, so what was known of the other when it left is too old.
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
		_, err := reader.Read(ctx, driver.Query{Keys: []string{"c", "w/a"}})
		must.Succeed(t, err)
		return tap.since(before)[opGetData] == 1
	})
	var once sync.Once
	tap.on(opGetData, func() { once.Do(func() { raise("2") }) })
	rows, err := reader.Read(ctx, driver.Query{Keys: []string{"c", "w/a"}})
	must.Succeed(t, err)
	if c, a := string(rows.Keys[0].Value), string(rows.Keys[1].Value); c != "2" || a != "2" {
		t.Errorf("c was read at %s, and a behind it at %s; want 2 and 2", c, a)
	}
}

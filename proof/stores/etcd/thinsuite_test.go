package etcd_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine"
	enginelog "github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/storetest"
)

func thinHandle(t testing.TB, endpoints []string, prefix string, timeout time.Duration) *thin {
	t.Helper()
	d, err := openThin(endpoints, prefix, timeout)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// thinLink is a link between one handle and the server.
type thinLink struct {
	t     *testing.T
	proxy *faultproxy.Proxy
	raw   raw
	fault drivertest.Fault
	over  sync.WaitGroup
}

// Next implements drivertest.Link. A request that is held is lost or late by what Arrive does with it.
func (l *thinLink) Next(f drivertest.Fault, meanwhile func()) {
	l.fault = f
	if f != drivertest.LostReply {
		l.proxy.StallRequests()
		meanwhile()
		return
	}
	before := l.newest()
	l.proxy.DropReplies()
	l.over.Go(func() {
		rig.Eventually(l.t, "the server has executed it", func() bool { return l.newest() != before })
		meanwhile()
		l.proxy.Reset()
	})
}

// newest is the revision of the newest change below the prefix.
func (l *thinLink) newest() int64 {
	r, err := l.raw.Get(rig.Deadline(l.t), l.raw.prefix, clientv3.WithLastRev()...)
	if err != nil || len(r.Kvs) == 0 {
		return 0
	}
	return r.Kvs[0].ModRevision
}

// Arrive implements drivertest.Link.
func (l *thinLink) Arrive() {
	l.over.Wait()
	if l.fault == drivertest.LostRequest {
		l.proxy.Reset()
	}
	rig.Heal(l.t, l.proxy)
}

// thinSetup are stores on the shared server.
func thinSetup() drivertest.Setup {
	return drivertest.Setup{
		Open: func(t *testing.T) func() drivertest.Documenter {
			o := options()
			return func() drivertest.Documenter { return thinHandle(t, o.Endpoints, o.Prefix, o.Timeout) }
		},
		Through: func(t *testing.T) (witness, through drivertest.Documenter, link drivertest.Link) {
			o := options()
			proxy := rig.Link(t, o.Endpoints[0])
			d := thinHandle(t, []string{proxy.Addr()}, o.Prefix, 2*time.Second)
			rig.Eventually(t, "it is connected", func() bool {
				_, err := d.Read(rig.Deadline(t), driver.Query{Keys: []string{"k"}})
				return err == nil
			})
			return thinHandle(t, o.Endpoints, o.Prefix, o.Timeout), d, &thinLink{t: t, proxy: proxy, raw: rawOf(t, o)}
		},
	}
}

// TestThinDriver: the driver of the spike keeps the promises of package driver, over a real server.
func TestThinDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, thinSetup())
}

// onThin is the engine over the driver.
type onThin struct {
	*engine.Docs
	*enginelog.Log
}

func thinStore(*testing.T) func(t *testing.T) onThin {
	o := options()
	return func(t *testing.T) onThin {
		t.Helper()
		r := engine.NewRows(thinHandle(t, o.Endpoints, o.Prefix, o.Timeout), rand.Text()[:16])
		return onThin{engine.NewDocs(r), enginelog.Open(r, "main")}
	}
}

func TestThinLog(t *testing.T)  { t.Parallel(); storetest.Log(t, thinStore) }
func TestThinSeed(t *testing.T) { t.Parallel(); storetest.Seed(t, thinStore) }
func TestThinDocs(t *testing.T) { t.Parallel(); storetest.Docs(t, thinStore) }

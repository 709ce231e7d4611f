package etcd_test

import (
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/etcd"
)

func openDriver(t testing.TB, o etcd.Options) full.Driver {
	t.Helper()
	d, err := etcd.OpenDriver(rig.Deadline(t), o)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// link is a link between one handle and the server.
type link struct {
	t     *testing.T
	proxy *faultproxy.Proxy
	raw   raw
	fault drivertest.Fault
	over  sync.WaitGroup
}

// Next implements drivertest.Link. A request that is held is lost or late by what Arrive does with it.
func (l *link) Next(f drivertest.Fault, meanwhile func()) {
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
func (l *link) newest() int64 {
	r, err := l.raw.Get(rig.Deadline(l.t), l.raw.prefix, clientv3.WithLastRev()...)
	if err != nil || len(r.Kvs) == 0 {
		return 0
	}
	return r.Kvs[0].ModRevision
}

// Arrive implements drivertest.Link.
func (l *link) Arrive() {
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
			o := options()
			return func() drivertest.Documenter { return openDriver(t, o) }
		},
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
			o := options()
			proxy := rig.Link(t, o.Endpoints[0])
			behind := o
			behind.Endpoints, behind.Timeout = []string{proxy.Addr()}, 2*time.Second
			return openDriver(t, o), openDriver(t, behind), &link{t: t, proxy: proxy, raw: rawOf(t, o)}
		},
	})
}

package etcd_test

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/proof/must"
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
			below := rawOf(t, o)
			return openDriver(t, o), openDriver(t, behind), rig.DriverLink(t, proxy, func() any { return below.newest(t) })
		},
	})
}

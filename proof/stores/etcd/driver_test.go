package etcd_test

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/etcd"
)

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
	drivertest.Documents(t, drivertest.Setup{
		Open: rig.Drivers(place, etcd.OpenDriver, func(d full.Driver) drivertest.Documenter { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
			return rig.ThroughLink(t, place, etcd.OpenDriver, func(o *etcd.Options) { o.Timeout = 2 * time.Second },
				newest)
		},
	})
}

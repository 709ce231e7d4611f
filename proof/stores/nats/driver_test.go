package nats_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/nats"
)

func openDriver(t testing.TB, o nats.Options) nats.Driver {
	t.Helper()
	if len(o.URLs) == 0 {
		o.URLs = strings.Split(address, ",")
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second // the machine may be busy
	}
	d, err := nats.OpenDriver(rig.Deadline(t), o)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// ends are the newest changes of documents and log.
func (d backdoor) ends(t *testing.T) any {
	var seqs [2]uint64
	for i, stream := range []string{d.docs(), d.log()} {
		seqs[i] = d.stream(t, stream).CachedInfo().State.LastSeq
	}
	return seqs
}

// throughLink opens two handles, one behind a link.
func throughLink(t *testing.T) (witness, through nats.Driver, l drivertest.Link) {
	t.Helper()
	b, proxy := bucket(), proxyTo(t, address)
	witness = openDriver(t, nats.Options{Bucket: b})
	through = openDriver(t, nats.Options{Bucket: b, URLs: []string{"nats://" + proxy.Addr()}, Timeout: 2 * time.Second})
	door := backdoorTo(t, b)
	return witness, through, rig.DriverLink(t, proxy, func() any { return door.ends(t) })
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{
		Open: func(t *testing.T) func() drivertest.Documenter {
			b := bucket()
			return func() drivertest.Documenter { return openDriver(t, nats.Options{Bucket: b}) }
		},
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
			return throughLink(t)
		},
	})
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	drivertest.Journals(t, drivertest.JournalSetup{
		Open: func(t *testing.T) func() drivertest.Orderer {
			b := bucket()
			return func() drivertest.Orderer { return openDriver(t, nats.Options{Bucket: b}) }
		},
		Through: func(t *testing.T) (witness, through drivertest.Orderer, l drivertest.Link) {
			return throughLink(t)
		},
		Deposed: func(t *testing.T) (drivertest.Orderer, func(bool)) {
			r := startRelay(t)
			var d nats.Driver
			r.inCluster(t, func() { d = openDriver(t, nats.Options{URLs: []string{r.url}, Bucket: bucket()}) })
			return d, func(on bool) {
				if r.with(faithful); on {
					r.with(r.past())
				}
			}
		},
	})
}

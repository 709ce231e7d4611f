package nats_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/nats"
)

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
	hurry := func(o *nats.Options) { o.Timeout = 2 * time.Second }
	return rig.ThroughLink(t, place, nats.OpenDriver, hurry, func(t *testing.T, o nats.Options) func() any {
		door := backdoorTo(t, o.Bucket)
		return func() any { return door.ends(t) }
	})
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{
		Open:    rig.Drivers(place, nats.OpenDriver, func(d nats.Driver) drivertest.Documenter { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) { return throughLink(t) },
	})
}

// TestDriverOfSmallMessages: also where a server takes small messages alone.
func TestDriverOfSmallMessages(t *testing.T) {
	t.Parallel()
	c, err := server.Spawn(rig.LongDeadline(t), server.Options{Dir: folder(t), NoSync: true, MaxPayload: 64 << 10})
	must.Succeed(t, err)
	t.Cleanup(c.Stop)
	small := place
	small.Fresh = func(testing.TB) nats.Options { return usual(nats.Options{URLs: c.URLs(), Bucket: bucket()}) }
	drivertest.Documents(t, drivertest.Setup{
		Open: rig.Drivers(small, nats.OpenDriver, func(d nats.Driver) drivertest.Documenter { return d }),
	})
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	drivertest.Journals(t, drivertest.JournalSetup{
		Open:    rig.Drivers(place, nats.OpenDriver, func(d nats.Driver) drivertest.Orderer { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Orderer, l drivertest.Link) { return throughLink(t) },
		Deposed: func(t *testing.T) (drivertest.Orderer, func(bool)) {
			r := startRelay(t)
			var d nats.Driver
			r.inCluster(t, func() {
				d = rig.Driver(t, nats.OpenDriver, usual(nats.Options{URLs: []string{r.url}, Bucket: bucket()}))
			})
			return d, func(on bool) {
				if r.with(faithful); on {
					r.with(r.past())
				}
			}
		},
	})
}

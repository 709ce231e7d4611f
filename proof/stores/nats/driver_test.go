package nats_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	nc "github.com/nats-io/nats.go"

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
		Open: rig.Drivers(place, nats.OpenDriver, func(d nats.Driver) drivertest.Documenter { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
			return throughLink(t)
		},
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

// TestNewLogIsServed: who opens a log that was just made waits until its node knows of it, and writes nothing to find
// out.
func TestNewLogIsServed(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	o := usual(nats.Options{URLs: []string{r.url}, Bucket: bucket()})
	var d nats.Driver
	r.inCluster(t, func() { d = rig.Driver(t, nats.OpenDriver, o) })
	for _, create := range []bool{true, false} {
		unknown := 3
		r.with(func(m *nc.Msg, pass func() []byte) []byte {
			m.Data = bytes.ReplaceAll(m.Data, []byte(`"num_replicas":3`), []byte(`"num_replicas":1`)) // the server is alone
			if strings.HasPrefix(m.Subject, "$JS.") || unknown == 0 {
				return pass()
			}
			unknown--
			return refuse(t, m)
		})
		j := must.Get(d.OpenJournal(t.Context(), "new", create))(t)
		if unknown > 0 {
			t.Errorf("opened after %d of 3 answers that nobody serves it", 3-unknown)
		}
		_, _, before, err := j.Read(t.Context(), 0, 0)
		must.Succeed(t, err)
		if at := must.Get(j.Append(t.Context(), [][]byte{{1}}))(t); at[0] != before+1 || create && before != 0 {
			t.Errorf("the log ended at %d, and its next record got %d", before, at[0])
		}
	}
}

// refuse answers as a node does that knows of no stream with the subject.
func refuse(t *testing.T, m *nc.Msg) []byte {
	must.Succeed(t, m.RespondMsg(&nc.Msg{Header: nc.Header{"Status": {"503"}}}))
	return nil
}

package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/postgres"
)

func openDriver(t *testing.T, o postgres.Options) postgres.Driver {
	t.Helper()
	d, err := postgres.OpenDriver(rig.Deadline(t), o)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// opener opens handles of one new store.
func opener[D any](t *testing.T, as func(postgres.Driver) D) func() D {
	o := options(t)
	return func() D { return as(openDriver(t, o)) }
}

// newest is another text after each change of rows, or of the log.
const newest = `SELECT (SELECT string_agg(key || version, ' ' ORDER BY key) FROM %[1]q.rows) UNION ALL SELECT last::text FROM %[1]q.head`

// throughLink opens two handles, one behind a link, which has made each kind of change once: later ones are one message.
func throughLink(t *testing.T) (witness, through postgres.Driver, l drivertest.Link) {
	t.Helper()
	o, ctx := options(t), rig.Deadline(t)
	proxy := rig.Link(t, o.Hosts[0])
	witness = openDriver(t, o)
	behind := o
	behind.Hosts, behind.Timeout = []string{proxy.Addr()}, 2*time.Second
	through = openDriver(t, behind)
	v, err := through.Swap(ctx, driver.Op{Key: "warm", Name: "1"})
	must.Succeed(t, err)
	v, err = through.Swap(ctx, driver.Op{Key: "warm", Name: "2", If: v})
	must.Succeed(t, err)
	_, err = through.Swap(ctx, driver.Op{Key: "warm", If: v, Delete: true})
	must.Succeed(t, err)
	_, err = through.Journal().Append(ctx, [][]byte{nil})
	must.Succeed(t, err)
	return witness, through, rig.DriverLink(t, proxy, func() any {
		column, err := standing(t).SQL(rig.Deadline(t), fmt.Sprintf(newest, o.Schema))
		must.Succeed(t, err)
		return strings.Join(column, "\n")
	})
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{
		Open: func(t *testing.T) func() drivertest.Documenter {
			return opener(t, func(d postgres.Driver) drivertest.Documenter { return d })
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
			return opener(t, func(d postgres.Driver) drivertest.Orderer { return d })
		},
		Through: func(t *testing.T) (witness, through drivertest.Orderer, l drivertest.Link) {
			return throughLink(t)
		},
	})
}

// TestVigils: so do its vigils.
func TestVigils(t *testing.T) {
	t.Parallel()
	drivertest.Vigils(t, drivertest.VigilSetup{
		Open: func(t *testing.T) func() drivertest.Seer {
			return opener(t, func(d postgres.Driver) drivertest.Seer { return d })
		},
		Through: func(t *testing.T) (witness, through drivertest.Seer, l drivertest.Link) { return throughLink(t) },
	})
}

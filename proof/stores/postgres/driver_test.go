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

// newest is another text after each change of rows, or of the log.
const newest = `SELECT (SELECT string_agg(key || version, ' ' ORDER BY key) FROM %[1]q.rows) UNION ALL SELECT last::text FROM %[1]q.head`

// throughLink opens two handles, one behind a link, which has made each kind of change once: later ones are one
// message.
func throughLink(t *testing.T) (witness, through postgres.Driver, l drivertest.Link) {
	t.Helper()
	hurry := func(o *postgres.Options) { o.Timeout = 2 * time.Second }
	witness, through, l = rig.ThroughLink(t, place, postgres.OpenDriver, hurry,
		func(t *testing.T, o postgres.Options) func() any {
			return func() any {
				column := must.Get(standing(t).SQL(rig.Deadline(t), fmt.Sprintf(newest, o.Schema)))(t)
				return strings.Join(column, "\n")
			}
		})
	ctx, v := rig.Deadline(t), driver.Version("")
	for _, op := range []driver.Op{{Name: "1"}, {Name: "2"}, {Delete: true}} {
		op.Key, op.If = "warm", v
		v = must.Get(through.Swap(ctx, op))(t)
	}
	must.Succeed(t, must.Err(through.Journal().Append(ctx, [][]byte{nil})))
	return witness, through, l
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{
		Open: rig.Drivers(place, postgres.OpenDriver, func(d postgres.Driver) drivertest.Documenter { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
			return throughLink(t)
		},
	})
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	drivertest.Journals(t, drivertest.JournalSetup{
		Open:    rig.Drivers(place, postgres.OpenDriver, func(d postgres.Driver) drivertest.Orderer { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Orderer, l drivertest.Link) { return throughLink(t) },
	})
}

// TestVigils: so do its vigils.
func TestVigils(t *testing.T) {
	t.Parallel()
	drivertest.Vigils(t, drivertest.VigilSetup{
		Open:    rig.Drivers(place, postgres.OpenDriver, func(d postgres.Driver) drivertest.Seer { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Seer, l drivertest.Link) { return throughLink(t) },
	})
}

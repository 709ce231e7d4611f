package postgres_test

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/fence"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/postgres"
	"github.com/rota-run/rota/store/storetest"
)

// shared is the server that most tests use, each in its own schema.
var shared = rig.Shared[*server.Server]{
	Start: func(ctx context.Context) (*server.Server, error) {
		return server.Start(ctx, server.Options{NoSync: os.Getenv("ROTA_POSTGRES_SYNC") == ""})
	},
	Require: server.Require,
}

func TestMain(m *testing.M) {
	if where := os.Getenv(holderVariable); where != "" {
		if err := hold(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(shared.Run(m))
}

// standing is the shared server.
func standing(t testing.TB) *server.Server {
	t.Helper()
	return shared.Server(t)
}

// own starts a server that the test may kill.
func own(t testing.TB, o server.Options) *server.Server {
	t.Helper()
	o.NoSync = true
	return rig.Own(t, server.Variable, server.Require,
		func(ctx context.Context) (*server.Server, error) { return server.Start(ctx, o) })
}

// on are the options of a new store on a server.
func on(s *server.Server) postgres.Options {
	return postgres.Options{
		Hosts: []string{s.Addr()}, User: server.User, Database: server.User,
		Password: os.Getenv(server.PasswordVariable),
		Schema:   shared.Name(), Timeout: 20 * time.Second,
	}
}

// options are those of a new store on the shared server.
func options(t testing.TB) postgres.Options {
	t.Helper()
	return on(standing(t))
}

// through returns options of the same store, which is reached through other addresses.
func through(o postgres.Options, hosts ...string) postgres.Options {
	o.Hosts = hosts
	return o
}

// place is how tests reach the shared server, or another one.
var place = rig.Place[postgres.Options, *postgres.Store]{
	Open: postgres.Open, TTL: 2 * time.Second, Fresh: options, At: through,
	Hosts: func(o postgres.Options) []string { return o.Hosts },
}

func openWith(t testing.TB, o postgres.Options) *postgres.Store { t.Helper(); return place.With(t, o) }

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, place.Empty) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, place.Empty) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, place.Empty) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, place.Empty) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, place.Empty) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, place.Empty) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, place.Empty) }
func TestLocks(t *testing.T)    { t.Parallel(); locktest.Run(t, place.Empty) }
func TestFaults(t *testing.T)   { t.Parallel(); storetest.Faults(t, place.Reach) }
func TestStories(t *testing.T)  { t.Parallel(); rig.Stories(t, place.Members) }
func TestStorm(t *testing.T)    { t.Parallel(); rig.Storms(t, place.Members) }

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
	rig.Documents(t, place, postgres.OpenDriver, throughLink)
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	rig.Journals(t, place, postgres.OpenDriver, throughLink, nil)
}

// TestVigils: so do its vigils.
func TestVigils(t *testing.T) {
	t.Parallel()
	drivertest.Vigils(t, drivertest.VigilSetup{
		Open:    rig.Drivers(place, postgres.OpenDriver, func(d postgres.Driver) drivertest.Seer { return d }),
		Through: func(t *testing.T) (witness, through drivertest.Seer, l drivertest.Link) { return throughLink(t) },
	})
}

// TestFencedTransaction: while the transaction of an owner is under way that of its successor waits, and one that was
// begun before, and is fenced after it, is refused.
func TestFencedTransaction(t *testing.T) {
	t.Parallel()
	o := options(t)
	u := url.URL{Scheme: "postgres", User: url.UserPassword(o.User, o.Password), Host: o.Hosts[0], Path: o.Database,
		RawQuery: url.Values{"sslmode": {"disable"}, "search_path": {fmt.Sprintf("%q", o.Schema)}}.Encode()}
	db, err := stdsql.Open("pgx", u.String())
	must.Succeed(t, err)
	defer db.Close()
	ctx := rig.Deadline(t)
	for _, query := range []string{fmt.Sprintf("CREATE SCHEMA %q", o.Schema), fence.Table,
		"CREATE TABLE report (body text)"} {
		must.Succeed(t, must.Err(db.ExecContext(ctx, query)))
	}
	begin := func() *stdsql.Tx {
		return must.Get(db.BeginTx(ctx, nil))(t)
	}
	write := func(tx *stdsql.Tx, token cluster.Token, body string) error {
		if err := fence.SQL(ctx, tx, "report", token); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO report VALUES ($1)", body)
		return errors.Join(err, tx.Commit())
	}
	must.Succeed(t, write(begin(), 7, "first"))
	paused, late := begin(), begin()
	must.Succeed(t, fence.SQL(ctx, paused, "report", 7))
	successor := make(chan error, 1)
	go func() { successor <- write(begin(), 9, "next") }()
	for waits := false; !waits; time.Sleep(10 * time.Millisecond) { // waits: for the successor to wait
		must.Succeed(t, db.QueryRowContext(ctx,
			"SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid())").Scan(&waits))
	}
	_, err = paused.ExecContext(ctx, "INSERT INTO report VALUES ('resumed')")
	must.Succeed(t, errors.Join(err, paused.Commit()))
	must.Succeed(t, <-successor)
	if err := write(late, 7, "late"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a former owner: %v", err)
	}
	var bodies string
	must.Succeed(t, db.QueryRowContext(ctx, "SELECT string_agg(body, ',') FROM report").Scan(&bodies))
	if bodies != "first,resumed,next" {
		t.Errorf("the table has %s", bodies)
	}
}

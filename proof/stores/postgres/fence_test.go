package postgres_test

import (
	stdsql "database/sql"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/fence"
	"github.com/rota-run/rota/proof/stores/rig"
)

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
		tx := must.Get(db.BeginTx(ctx, nil))(t)
		return tx
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

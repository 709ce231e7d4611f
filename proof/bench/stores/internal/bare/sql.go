package bare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite" // the driver that the store uses too
)

// postgres inserts rows through the client's own pool, with as many connections as that has by default.
type postgres struct{ pool *pgxpool.Pool }

func openPostgres(ctx context.Context, hosts []string) (*postgres, error) {
	pool, err := pgxpool.New(ctx, "postgres://rota@"+hosts[0]+"/rota?sslmode=disable")
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "CREATE TABLE bare (id bigserial PRIMARY KEY, data bytea NOT NULL)"); err != nil {
		pool.Close()
		return nil, err
	}
	return &postgres{pool}, nil
}

func (b *postgres) Write(ctx context.Context, data []byte) error {
	_, err := b.pool.Exec(ctx, "INSERT INTO bare (data) VALUES ($1)", data)
	return err
}

func (b *postgres) Batch(ctx context.Context, data []byte, n int) error {
	all := make([][]byte, n)
	for i := range all {
		all[i] = data
	}
	_, err := b.pool.Exec(ctx, "INSERT INTO bare (data) SELECT unnest($1::bytea[])", all)
	return err
}

func (b *postgres) Applied(ctx context.Context, data []byte) error {
	var id int64
	if err := b.pool.QueryRow(ctx, "INSERT INTO bare (data) VALUES ($1) RETURNING id", data).Scan(&id); err != nil {
		return err
	}
	var back []byte
	err := b.pool.QueryRow(ctx, "SELECT data FROM bare WHERE id = $1", id).Scan(&back)
	if err == nil && len(back) != len(data) {
		err = fmt.Errorf("row %d is not there", id)
	}
	return err
}

func (b *postgres) Close() error {
	b.pool.Close()
	return nil
}

// sqlite is a database with the settings of the store file.
type sqlite struct {
	db             *sql.DB
	insert, choose *sql.Stmt
}

func openSQLite(ctx context.Context, dir string) (*sqlite, error) {
	query := url.Values{"_pragma": {"busy_timeout(60000)", "synchronous(full)", "journal_mode(wal)"},
		"_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	b := &sqlite{db: db}
	if _, err = db.ExecContext(ctx, `CREATE TABLE log (idx INTEGER PRIMARY KEY, data BLOB NOT NULL)`); err == nil {
		b.insert, err = db.PrepareContext(ctx, `INSERT INTO log (data) VALUES (?)`)
	}
	if err == nil {
		b.choose, err = db.PrepareContext(ctx, `SELECT data FROM log WHERE idx = ?`)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *sqlite) Write(ctx context.Context, data []byte) error {
	_, err := b.insert.ExecContext(ctx, data)
	return err
}

func (b *sqlite) Batch(ctx context.Context, data []byte, n int) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert := tx.StmtContext(ctx, b.insert)
	defer insert.Close() //nolint:errcheck // it ends with its transaction
	for range n {
		if _, err := insert.ExecContext(ctx, data); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (b *sqlite) Applied(ctx context.Context, data []byte) error {
	res, err := b.insert.ExecContext(ctx, data)
	if err != nil {
		return err
	}
	at, err := res.LastInsertId()
	if err != nil {
		return err
	}
	return b.choose.QueryRowContext(ctx, at).Scan(&data)
}

func (b *sqlite) Close() error {
	var errs []error
	for _, s := range []*sql.Stmt{b.insert, b.choose} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, b.db.Close())...)
}

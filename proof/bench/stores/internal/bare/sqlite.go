package bare

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that the store uses too
)

// sqlite is a database with the settings of the store file.
type sqlite struct {
	db             *sql.DB
	insert, choose *sql.Stmt
}

func openSQLite(ctx context.Context, dir string) (*sqlite, error) {
	query := url.Values{"_pragma": {"busy_timeout(60000)", "synchronous(full)", "journal_mode(wal)"}, "_txlock": {"immediate"}}
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

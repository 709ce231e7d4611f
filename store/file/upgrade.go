package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// errFormer says that a directory has format 1, which had documents without a letter in front, and snapshots in a table
// of their own. Who opens it to write turns it into format 2: older places of other kinds are copied by way of it.
var errFormer = errors.New("the directory has format 1 of an earlier version: stop the members of that version; then " +
	"who opens it to write converts it: try rota store repair with --yes, or start a member")

// upgrade converts the documents, but for those of sessions: their members have ended. Who calls it holds the turn.
func upgrade(ctx context.Context, c *sql.Conn) error {
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	defer func() { _ = tx.Rollback() }() // it does nothing after the commit
	former, err := formerDocs(ctx, tx)
	if err != nil {
		return err
	}
	for _, statement := range append([]string{`DROP TABLE docs`}, docsTable...) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("convert the tables: %w", classify(err))
		}
	}
	for _, row := range former {
		sum := docSum(row.Key, row.Name, "", row.Value)
		if _, err := tx.ExecContext(ctx, insertRow, row.Key, row.Name, "", sum, row.Value); err != nil {
			return fmt.Errorf("convert %q: %w", row.Key, classify(err))
		}
	}
	if _, err := tx.ExecContext(ctx, userVersion); err != nil {
		return classify(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("convert the directory: %w", classify(err))
	}
	return nil
}

// formerDocs are the documents of a directory of format 1, as rows of this one.
func formerDocs(ctx context.Context, tx *sql.Tx) (all []driver.Row, err error) {
	found, err := tx.QueryContext(ctx, `SELECT key, ver, sum, value FROM docs WHERE sess = ''`)
	if err != nil {
		return nil, classify(err)
	}
	defer found.Close()
	for found.Next() {
		var row driver.Row
		var sum int64
		if err := found.Scan(&row.Key, &row.Name, &sum, &row.Value); err != nil {
			return nil, classify(err)
		}
		if docSum(row.Key, row.Name, "", row.Value) != sum {
			return nil, fmt.Errorf("document %q: wrong checksum: %w", row.Key, ErrDamaged)
		}
		row.Key, row.Value = docs+row.Key, append([]byte{'v'}, row.Value...)
		all = append(all, row)
	}
	return all, found.Err()
}

// moveSnapshot saves the snapshot of a directory that had format 1, once.
func (s *Store) moveSnapshot(ctx context.Context) error {
	r, err := s.disk.formerSnapshot(ctx)
	if err != nil || r.Index == 0 {
		return err
	}
	if err := s.SaveSnapshot(ctx, r); err != nil {
		return err
	}
	return s.change(ctx, 0, func(tx *tx) error {
		_, err := tx.exec(`DROP TABLE IF EXISTS snapshots`)
		return err
	})
}

// formerSnapshot is the newest snapshot that is whole and to which the log reaches back; none has index 0.
func (d *disk) formerSnapshot(ctx context.Context) (r store.Record, err error) {
	rows, err := d.reads.QueryContext(ctx, `SELECT idx, sum, data FROM snapshots
		WHERE idx >= (SELECT trimmed FROM meta) ORDER BY idx DESC`)
	if noTable(err) {
		return r, nil
	}
	if err != nil {
		return r, readError(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		var sum int64
		if err := rows.Scan(&r.Index, &sum, &r.Data); err != nil {
			return r, readError(ctx, err)
		}
		if recordSum(r.Index, r.Data) == sum {
			return r, nil
		}
		err = fmt.Errorf("snapshot at %d: wrong checksum: %w", r.Index, ErrDamaged)
	}
	return store.Record{}, errors.Join(err, rows.Err())
}

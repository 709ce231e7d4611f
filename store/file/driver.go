package file

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// rows is the driver of package engine: one handle on the directory. The name of the write is a row's version, since
// no name is given twice.
type rows struct{ *disk }

// Limits implements driver.Driver. Callers of one handle share the transactions of the writer, also those that append,
// so they need not share an append as well. A list is read at one moment.
func (r *rows) Limits() driver.Limits {
	return driver.Limits{
		Value: MaxRecord + 1, Swap: MaxRecord + 1<<10, Keys: 1 << 20, Page: 1 << 20, Batch: 1,
	}
}

// Close implements driver.Driver.
func (r *rows) Close() error { return r.close() }

// Read implements driver.Documents: all is as it was at one moment. What is asked for by its keys is read to the end,
// since a query whose context can end costs a goroutine or two.
func (r *rows) Read(ctx context.Context, q driver.Query) (out driver.Rows, err error) {
	if err := r.enter(ctx); err != nil {
		return out, err
	}
	defer r.inside.Done()
	ask := r.asks.rows
	if q.From != "" && len(q.Keys) > 0 {
		tx, err := r.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return out, readError(ctx, err)
		}
		defer func() { _ = tx.Rollback() }() // it has only read
		ask = tx.QueryContext
	}
	seen := graves{disk: r.disk, dead: map[string]bool{}}
	defer seen.bury()
	if q.From != "" {
		if err := r.span(ctx, ask, &seen, q, &out); err != nil {
			return driver.Rows{}, readError(ctx, err)
		}
	}
	if len(q.Keys) > 0 {
		if out.Keys, err = r.keys(ask, &seen, q.Keys); err != nil {
			return driver.Rows{}, readError(ctx, err)
		}
	}
	return out, nil
}

// query asks the database.
type query func(ctx context.Context, text string, args ...any) (*sql.Rows, error)

// span reads a range.
func (r *rows) span(ctx context.Context, ask query, seen *graves, q driver.Query, out *driver.Rows) error {
	columns := `key, name, sess, sum, value`
	if q.Bare {
		columns = `key, name, sess, 0, NULL`
	}
	found, err := ask(ctx, `SELECT `+columns+` FROM docs WHERE key >= ? AND key < ? ORDER BY key`, q.From, q.To)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		row, err := seen.scan(found, !q.Bare)
		switch {
		case err != nil:
			return err
		case row.Version == "":
		case len(out.Range) == q.Limit:
			out.More = true
			return nil
		default:
			out.Range = append(out.Range, row)
		}
	}
	return found.Err()
}

// keys reads rows by their keys.
func (r *rows) keys(ask query, seen *graves, keys []string) ([]driver.Row, error) {
	condition, asked := `key = ?`, keys[0]
	if len(keys) > 1 {
		list, err := json.Marshal(keys)
		if err != nil {
			return nil, err
		}
		condition, asked = `key IN (SELECT value FROM json_each(?))`, string(list)
	}
	found, err := ask(background, `SELECT key, name, sess, sum, value FROM docs WHERE `+condition, asked)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	there := make(map[string]driver.Row, len(keys))
	for found.Next() {
		row, err := seen.scan(found, true)
		if err != nil {
			return nil, err
		}
		there[row.Key] = row
	}
	all := make([]driver.Row, len(keys))
	for i, key := range keys {
		all[i] = there[key]
		all[i].Key = key
		if len(there) < len(keys) { // perhaps a key came twice
			all[i].Value = slices.Clone(all[i].Value)
		}
	}
	return all, found.Err()
}

// graves are the sessions that one read has met, and whether they have ended.
type graves struct {
	*disk
	dead map[string]bool
}

// scan reads one row, and verifies it. It has no version where its session has ended.
func (g *graves) scan(found *sql.Rows, whole bool) (row driver.Row, err error) {
	var session string
	var sum int64
	if err := found.Scan(&row.Key, &row.Name, &session, &sum, &row.Value); err != nil {
		return row, err
	}
	if whole && docSum(row.Key, row.Name, session, row.Value) != sum {
		return row, fmt.Errorf("row %q: wrong checksum: %w", row.Key, ErrDamaged)
	}
	if session != "" {
		dead, known := g.dead[session]
		if !known {
			dead = g.ended(session)
			g.dead[session] = dead
		}
		if dead {
			return driver.Row{Key: row.Key}, nil
		}
	}
	row.Version = driver.Version(row.Name)
	return row, nil
}

// bury has the rows of ended sessions removed.
func (g *graves) bury() {
	for id, dead := range g.dead { // order-free: each is buried alone
		if dead {
			g.disk.bury(id)
		}
	}
}

// Swap implements driver.Documents.
func (r *rows) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if len(with) > 0 {
		return "", fmt.Errorf("%q: one row at a time: %w", op.Key, store.ErrTooLarge)
	}
	return r.swap(ctx, op, nil)
}

// swap writes one row, of a session if owner is not nil.
func (d *disk) swap(ctx context.Context, op driver.Op, owner *session) (driver.Version, error) {
	if err := inner.CheckSize(op.Value, MaxRecord+1); err != nil {
		return "", fmt.Errorf("%q: %w", op.Key, err)
	}
	op.Value = append(make([]byte, 0, len(op.Value)), op.Value...) // the caller's may change before the transaction ends
	o := newOp(len(op.Key)+len(op.Value), func(tx *tx) error { return d.swapIn(tx, op, owner) })
	o.light = op.Beat
	if err := d.do(ctx, o); err != nil || op.Delete {
		return "", err
	}
	return driver.Version(op.Name), nil
}

func (d *disk) swapIn(tx *tx, op driver.Op, owner *session) error {
	now, err := d.standing(tx, op.Key)
	switch {
	case err != nil:
		return err
	case owner.over():
		return refuse(store.ErrSession)
	case now != op.If:
		return refuse(&driver.Conflict{})
	case op.Beat:
		tx.renewed = true
	default:
		tx.changed.doc(op.Key)
	}
	if op.Delete {
		_, err = tx.exec(`DELETE FROM docs WHERE key = ?`, op.Key)
		return err
	}
	sum := docSum(op.Key, op.Name, owner.name(), op.Value)
	_, err = tx.exec(insertRow, op.Key, op.Name, owner.name(), sum, op.Value)
	return err
}

const insertRow = `INSERT INTO docs (key, name, sess, sum, value) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key)
	DO UPDATE SET name = excluded.name, sess = excluded.sess, sum = excluded.sum, value = excluded.value`

// standing is the version of a row inside a transaction: "" if there is none or if its session has ended.
func (d *disk) standing(tx *tx, key string) (v driver.Version, err error) {
	var session string
	err = tx.row(`SELECT name, sess FROM docs WHERE key = ?`, []any{key}, []any{&v, &session})
	if errors.Is(err, sql.ErrNoRows) || err == nil && d.ended(session) {
		return "", nil
	}
	return v, err
}

// freeRows is how many rows are removed in one turn.
const freeRows = 64

// Free implements driver.Documents, in steps, so that others get their turn. The space is returned to the file system;
// that of one row others use soon.
func (r *rows) Free(ctx context.Context, keys []string) error {
	for {
		n := min(freeRows, len(keys))
		o := newOp(0, func(tx *tx) error {
			if n == 0 {
				return nil
			}
			tx.renewed = true
			_, err := tx.exec(`DELETE FROM docs WHERE key >= ? AND key <= ?`, keys[0], keys[n-1])
			if err != nil || n == 1 {
				return err
			}
			return tx.vacuum()
		})
		o.light = true
		err := r.do(ctx, o)
		if keys = keys[n:]; err != nil || len(keys) == 0 {
			return err
		}
	}
}

// Watch implements driver.Documents.
func (r *rows) Watch(ctx context.Context, prefix string, hint func()) error {
	return r.notice.watch(ctx, &watch{prefix: prefix, hint: hint})
}

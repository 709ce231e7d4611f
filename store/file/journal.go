package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// pageBytes bounds what one read brings into memory; one record is returned in any case.
const pageBytes = 16 << 20

// A trim works in steps, so that others get their turn.
const (
	trimRows  = 2048
	freePages = 4096
)

// journal is a log: a range of the ids of one table, from its base on, behind which the indexes have no gaps. The log
// named main has the ids above zero, each other one as many as indexBits allow below zero.
type journal struct {
	*disk
	id int64 // 0: of main
}

// indexBits are those of an index of a log that is not main.
const indexBits = 40

func (j journal) base() int64 { return -j.id << indexBits }

// last is the greatest id that the log may have.
func (j journal) last() int64 {
	if j.id == 0 {
		return math.MaxInt64
	}
	return j.base() + 1<<indexBits - 1
}

// Journal implements driver.Journals.
func (r *rows) Journal() driver.Journal { return journal{r.disk, 0} }

// OpenJournal implements driver.NamedJournals.
func (r *rows) OpenJournal(ctx context.Context, name string, create bool) (driver.Journal, error) {
	j := journal{disk: r.disk}
	if err := r.enter(ctx); err != nil {
		return nil, err
	}
	defer r.inside.Done()
	find := `SELECT id FROM logs WHERE name = ?`
	err := r.asks.row(background, find, []any{name}, []any{&j.id})
	if errors.Is(err, sql.ErrNoRows) && create {
		return j, r.change(ctx, len(name), func(tx *tx) error {
			tx.renewed = true
			if _, err := tx.exec(`INSERT OR IGNORE INTO logs (name, trimmed) VALUES (?, 0)`, name); err != nil {
				return err
			}
			return tx.row(find, []any{name}, []any{&j.id})
		})
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, errNoLog
	case err != nil:
		return nil, readError(ctx, err)
	}
	return j, nil
}

var errNoLog = fmt.Errorf("the log: %w", store.ErrNotFound)

// DropJournal implements driver.NamedJournals. No later log gets the number.
func (r *rows) DropJournal(ctx context.Context, name string) error {
	o, err := r.OpenJournal(ctx, name, false)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	j, _ := o.(journal)
	if err := j.change(ctx, 0, func(tx *tx) error {
		tx.renewed = true
		_, err := tx.exec(`DELETE FROM logs WHERE id = ?`, j.id)
		return err
	}); err != nil {
		return err
	}
	for more := true; more && err == nil; {
		err = j.change(ctx, 0, func(tx *tx) (err error) {
			more, err = j.freeStep(tx, j.last())
			return err
		})
	}
	return err
}

// Append implements driver.Journal. It compares nothing: who has the turn writes behind the newest record. It shares a
// transaction with all changes of this handle that wait.
func (j journal) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	if len(records) != 1 {
		return nil, fmt.Errorf("%d records, one is taken: %w", len(records), store.ErrTooLarge)
	}
	index, err := j.AppendWith(ctx, records[0], false, nil)
	if err != nil {
		return nil, err
	}
	return []uint64{index}, nil
}

// AppendWith implements driver.JournalWith.
func (j journal) AppendWith(ctx context.Context, record []byte, light bool, with []driver.Op) (uint64, error) {
	size := len(record)
	for _, op := range with {
		size += len(op.Value)
		if err := inner.CheckSize(op.Value, MaxRecord+1); err != nil {
			return 0, err
		}
	}
	if err := inner.CheckSize(record, MaxRecord+1); err != nil {
		return 0, err
	}
	data := append(make([]byte, 0, len(record)), record...) // the caller's may change before the transaction ends
	with = slices.Clone(with)
	for i := range with {
		with[i].Value = slices.Clone(with[i].Value)
	}
	var index uint64
	o := newOp(size, func(tx *tx) (err error) {
		for _, op := range with {
			sum := docSum(op.Key, op.Name, "", op.Value)
			if _, err := tx.exec(insertRow, op.Key, op.Name, "", sum, op.Value); err != nil {
				return err
			}
		}
		index, err = j.insert(tx, data)
		return err
	})
	o.light = light
	if err := j.do(ctx, o); err != nil {
		return 0, err // the writer may still be at it
	}
	return index, nil
}

// insert puts a record behind the newest one.
func (j journal) insert(tx *tx, data []byte) (index uint64, err error) {
	id := int64(0)
	err = tx.row(`INSERT INTO log (idx, sum, data)
		SELECT top, (top - ?1) % 0x80000000 * 0x100000000 + ?3, ?4
		FROM (SELECT coalesce(max(idx), ?1) + 1 AS top FROM log WHERE idx > ?1 AND idx <= ?2), logs WHERE logs.id = ?5
		RETURNING idx`, []any{j.base(), j.last(), dataSum(data), data, j.id}, []any{&id})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, refuse(errNoLog)
	}
	index = uint64(id - j.base()) //nolint:gosec // an index is positive
	j.appended(tx, index)
	return index, err
}

// appended tells those who wait for records of main.
func (j journal) appended(tx *tx, index uint64) {
	if j.id != 0 {
		tx.renewed = true
		return
	}
	tx.changed.log()
	tx.index = index
}

// state reads up to where the log is trimmed, and its newest index.
func (j journal) state(row func(text string, args, to []any) error) (trimmed, head uint64, err error) {
	err = row(`SELECT trimmed, (SELECT coalesce(max(idx), ?1) - ?1 FROM log WHERE idx > ?1 AND idx <= ?2) FROM logs
		WHERE id = ?3`, []any{j.base(), j.last(), j.id}, []any{&trimmed, &head})
	if errors.Is(err, sql.ErrNoRows) {
		err = refuse(errNoLog)
	}
	return trimmed, head, err
}

// Read implements driver.Journal, as all was at one moment. Most reads find nothing new, and need no transaction.
func (j journal) Read(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	if err := j.enter(ctx); err != nil {
		return nil, 0, 0, err
	}
	defer j.inside.Done()
	trimmed, head, err := j.state(func(text string, args, to []any) error {
		return j.asks.row(background, text, args, to)
	})
	if err != nil {
		return nil, 0, 0, readError(ctx, err)
	}
	if after >= head || n < 1 {
		return nil, trimmed + 1, head, nil
	}
	tx, err := j.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, 0, readError(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	trimmed, head, err = j.state(func(text string, args, to []any) error {
		return tx.QueryRowContext(ctx, text, args...).Scan(to...)
	})
	if err != nil {
		return nil, 0, 0, readError(ctx, err)
	}
	if after < trimmed {
		return nil, trimmed + 1, head, nil
	}
	if records, err = j.readPage(ctx, tx, after, n); err != nil {
		return nil, 0, 0, readError(ctx, err)
	}
	return records, trimmed + 1, head, nil
}

// readPage reads records, none of which may be missing.
func (j journal) readPage(ctx context.Context, tx *sql.Tx, after uint64, n int) (records []store.Record, err error) {
	after = min(after, math.MaxInt64)
	rows, err := tx.QueryContext(ctx,
		`SELECT idx - ?, sum, data FROM log WHERE idx > ? AND idx <= ? ORDER BY idx LIMIT ?`,
		j.base(), j.base()+int64(after), j.last(), n) //nolint:gosec // bounded above
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for size := 0; size < pageBytes && rows.Next(); {
		var r store.Record
		var sum int64
		if err := rows.Scan(&r.Index, &sum, &r.Data); err != nil {
			return nil, err
		}
		if recordSum(r.Index, r.Data) != sum {
			return nil, fmt.Errorf("record %d: wrong checksum: %w", r.Index, ErrDamaged)
		}
		if want := after + 1 + uint64(len(records)); r.Index != want {
			return nil, fmt.Errorf("record %d is missing: %w", want, ErrDamaged)
		}
		records = append(records, r)
		size += len(r.Data)
	}
	return records, rows.Err()
}

// Free implements driver.Journal. The space is returned to the file system. If ctx ends meanwhile, the records count as
// freed, and the next Free frees the rest of the space.
func (j journal) Free(ctx context.Context, upTo uint64) error {
	for more := true; more; {
		err := j.change(ctx, 0, func(tx *tx) (err error) {
			more, err = j.trimStep(tx, upTo)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// trimStep marks everything up to index as trimmed and frees a part of it; more says that there is more to free.
func (j journal) trimStep(tx *tx, index uint64) (more bool, err error) {
	_, head, err := j.state(tx.row)
	if err != nil {
		return false, err
	}
	to := int64(min(index, head)) //nolint:gosec // a row id
	if _, err := tx.exec(`UPDATE logs SET trimmed = ?1 WHERE id = ?2 AND trimmed < ?1`, to, j.id); err != nil {
		return false, err
	}
	// The newest record stays, emptied: it holds the place of the head.
	newest := j.base() + int64(head) //nolint:gosec // a row id
	empty := `UPDATE log SET data = x'', sum = 0 WHERE idx = ?1 AND idx <= ?2 AND data <> x''`
	if _, err := tx.exec(empty, newest, j.base()+to); err != nil {
		return false, err
	}
	return j.freeStep(tx, min(j.base()+to, newest-1))
}

// freeStep frees some of the ids up to one.
func (j journal) freeStep(tx *tx, to int64) (more bool, err error) {
	deleted, err := tx.exec(`DELETE FROM log WHERE idx IN
		(SELECT idx FROM log WHERE idx > ? AND idx <= ? ORDER BY idx LIMIT ?)`, j.base(), to, trimRows)
	if err != nil || deleted == 0 {
		return false, err
	}
	return deleted == trimRows, tx.vacuum()
}

// Start implements driver.Journal. As after a trim, an emptied record holds the place of the head.
func (j journal) Start(ctx context.Context, index uint64) error {
	return j.change(ctx, 0, func(tx *tx) error {
		trimmed, head, err := j.state(tx.row)
		switch {
		case err != nil:
			return err
		case head == index && trimmed == index:
			return nil
		case head != 0:
			return refuse(fmt.Errorf("the log ends at %d: %w", head, store.ErrConflict))
		}
		at := int64(index) //nolint:gosec // CheckSeed bounds it
		if _, err := tx.exec(`INSERT INTO log (idx, sum, data) VALUES (?, 0, x'')`, j.base()+at); err != nil {
			return err
		}
		j.appended(tx, index)
		_, err = tx.exec(`UPDATE logs SET trimmed = ? WHERE id = ?`, at, j.id)
		return err
	})
}

// Watch implements driver.Journal.
func (j journal) Watch(ctx context.Context, hint func()) error {
	if j.id != 0 {
		return errors.ErrUnsupported
	}
	return j.notice.watch(ctx, &watch{log: true, hint: hint})
}

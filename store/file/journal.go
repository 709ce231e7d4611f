package file

import (
	"context"
	"database/sql"
	"fmt"
	"math"

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

// journal is the log: a table whose row ids are the indexes and have no gaps.
type journal struct{ *disk }

// Journal implements driver.Journals. A directory has one log.
func (r *rows) Journal() driver.Journal { return journal{r.disk} }

// Append implements driver.Journal. It compares nothing: who has the turn writes behind the newest record. It shares a
// transaction with all changes of this handle that wait.
func (j journal) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	if len(records) != 1 {
		return nil, fmt.Errorf("%d records, one is taken: %w", len(records), store.ErrTooLarge)
	}
	if err := inner.CheckSize(records[0], MaxRecord+1); err != nil {
		return nil, err
	}
	data := append(make([]byte, 0, len(records[0])), records[0]...) // the caller's may change before the transaction ends
	var index uint64
	err := j.change(ctx, len(data), func(tx *tx) (err error) {
		tx.changed.log()
		index, err = insertRecord(tx, data)
		return err
	})
	if err != nil {
		return nil, err // the writer may still be at it
	}
	return []uint64{index}, nil
}

// insertRecord puts a record behind the newest one.
func insertRecord(tx *tx, data []byte) (index uint64, err error) {
	id, err := tx.insert(`INSERT INTO log (idx, sum, data)
		SELECT coalesce(max(idx), 0) + 1, (coalesce(max(idx), 0) + 1) % 0x80000000 * 0x100000000 + ?, ? FROM log`,
		dataSum(data), data)
	tx.index = uint64(id) //nolint:gosec // an index is positive
	return tx.index, err
}

// logState reads up to where the log is trimmed, and its newest index.
const logState = `SELECT trimmed, (SELECT coalesce(max(idx), 0) FROM log) FROM meta`

// Read implements driver.Journal, as all was at one moment. Most reads find nothing new, and need no transaction.
func (j journal) Read(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	if err := j.enter(ctx); err != nil {
		return nil, 0, 0, err
	}
	defer j.inside.Done()
	var trimmed uint64
	if err := j.asks.row(background, logState, nil, []any{&trimmed, &head}); err != nil {
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
	if err := tx.QueryRowContext(ctx, logState).Scan(&trimmed, &head); err != nil {
		return nil, 0, 0, readError(ctx, err)
	}
	if after < trimmed {
		return nil, trimmed + 1, head, nil
	}
	if records, err = readPage(ctx, tx, after, n); err != nil {
		return nil, 0, 0, readError(ctx, err)
	}
	return records, trimmed + 1, head, nil
}

// readPage reads records, none of which may be missing.
func readPage(ctx context.Context, tx *sql.Tx, after uint64, n int) (records []store.Record, err error) {
	after = min(after, math.MaxInt64)
	rows, err := tx.QueryContext(ctx, `SELECT idx, sum, data FROM log WHERE idx > ? ORDER BY idx LIMIT ?`,
		int64(after), n) //nolint:gosec // bounded above
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
			more, err = trimStep(tx, upTo)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// trimStep marks everything up to index as trimmed and frees a part of it; more says that there is more to free.
func trimStep(tx *tx, index uint64) (more bool, err error) {
	var trimmed, head int64
	if err := tx.row(logState, nil, []any{&trimmed, &head}); err != nil {
		return false, err
	}
	to := int64(min(index, uint64(head))) //nolint:gosec // row ids
	if _, err := tx.exec(`UPDATE meta SET trimmed = ?1 WHERE trimmed < ?1`, to); err != nil {
		return false, err
	}
	// The newest record stays, emptied: it holds the place of the head.
	empty := `UPDATE log SET data = x'', sum = 0 WHERE idx = ?1 AND idx <= ?2 AND data <> x''`
	if _, err := tx.exec(empty, head, to); err != nil {
		return false, err
	}
	deleted, err := tx.exec(`DELETE FROM log WHERE idx IN
		(SELECT idx FROM log WHERE idx <= ? AND idx < ? ORDER BY idx LIMIT ?)`, to, head, trimRows)
	if err != nil || deleted == 0 {
		return false, err
	}
	return deleted == trimRows, tx.vacuum()
}

// Start implements driver.Journal. As after a trim, an emptied record holds the place of the head.
func (j journal) Start(ctx context.Context, index uint64) error {
	return j.change(ctx, 0, func(tx *tx) error {
		var trimmed, head uint64
		if err := tx.row(logState, nil, []any{&trimmed, &head}); err != nil {
			return err
		}
		switch {
		case head == index && trimmed == index:
			return nil
		case head != 0:
			return refuse(fmt.Errorf("the log ends at %d: %w", head, store.ErrConflict))
		}
		at := int64(index) //nolint:gosec // CheckSeed bounds it
		if _, err := tx.exec(`INSERT INTO log (idx, sum, data) VALUES (?, 0, x'')`, at); err != nil {
			return err
		}
		tx.index = index
		tx.changed.log()
		_, err := tx.exec(`UPDATE meta SET trimmed = ?`, at)
		return err
	})
}

// Watch implements driver.Journal.
func (j journal) Watch(ctx context.Context, hint func()) error {
	return j.notice.watch(ctx, &watch{log: true, hint: hint})
}

package file

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// pageBytes bounds what one Read brings into memory; one record is returned in any case.
const pageBytes = 16 << 20

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, data []byte) (uint64, error) {
	index, err := s.append(ctx, data)
	return index, s.wrap(err, "append")
}

func (s *Store) append(ctx context.Context, data []byte) (uint64, error) {
	if err := driver.CheckSize(data, MaxRecord); err != nil {
		return 0, err
	}
	data = append(make([]byte, 0, len(data)), data...) // the caller's bytes may change before the transaction ends
	var index uint64
	err := s.change(ctx, len(data), func(tx *tx) (err error) {
		tx.changed.log()
		index, err = insertRecord(tx, data)
		return err
	})
	if err != nil {
		return 0, err
	}
	return index, nil
}

// insertRecord puts a record behind the newest one.
func insertRecord(tx *tx, data []byte) (index uint64, err error) {
	id, err := tx.insert(`INSERT INTO log (idx, sum, data)
		SELECT coalesce(max(idx), 0) + 1, (coalesce(max(idx), 0) + 1) % 0x80000000 * 0x100000000 + ?, ? FROM log`, dataSum(data), data)
	tx.index = uint64(id)
	return tx.index, err
}

func head(tx *tx) (head uint64, err error) {
	err = tx.row(`SELECT coalesce(max(idx), 0) FROM log`, nil, []any{&head})
	return head, err
}

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := s.read(ctx, after, limit)
	return page, s.wrap(err, "read log after %d", after)
}

func (s *Store) read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if limit < 1 {
		return store.Page{}, fmt.Errorf("limit is %d: give at least 1", limit)
	}
	if err := s.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.inside.Done()
	after = min(after, math.MaxInt64)
	// Most reads find nothing new, and need no transaction.
	var trimmed, head uint64
	if err := s.asks.row(ctx, logState, nil, []any{&trimmed, &head}); err != nil {
		return store.Page{}, readError(ctx, err)
	}
	if after >= head && after >= trimmed {
		return store.Page{Head: head}, nil
	}
	tx, err := s.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return store.Page{}, readError(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	page, err := readPage(ctx, tx, after, limit)
	if err != nil {
		return store.Page{}, readError(ctx, err)
	}
	return page, nil
}

// logState reads up to where the log is trimmed, and its newest index.
const logState = `SELECT trimmed, (SELECT coalesce(max(idx), 0) FROM log) FROM meta`

// readPage reads trimmed, head and records as they were at one moment.
func readPage(ctx context.Context, tx *sql.Tx, after uint64, limit int) (store.Page, error) {
	var trimmed uint64
	var page store.Page
	if err := tx.QueryRowContext(ctx, logState).Scan(&trimmed, &page.Head); err != nil {
		return page, err
	}
	if after < trimmed {
		return page, fmt.Errorf("trimmed up to %d: %w", trimmed, store.ErrTruncated)
	}
	if after >= page.Head {
		return page, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT idx, sum, data FROM log WHERE idx > ? ORDER BY idx LIMIT ?`, int64(after), limit)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	for size := 0; size < pageBytes && rows.Next(); {
		r, err := scanRecord(rows, "record")
		if err != nil {
			return page, err
		}
		if want := after + 1 + uint64(len(page.Records)); r.Index != want {
			return page, fmt.Errorf("record %d is missing: %w", want, ErrDamaged)
		}
		page.Records = append(page.Records, r)
		size += len(r.Data)
	}
	return page, rows.Err()
}

// scanRecord reads one record and verifies it.
func scanRecord(rows interface{ Scan(...any) error }, what string) (store.Record, error) {
	var r store.Record
	var sum int64
	if err := rows.Scan(&r.Index, &sum, &r.Data); err != nil {
		return r, err
	}
	if recordSum(r.Index, r.Data) != sum {
		return r, fmt.Errorf("%s %d: wrong checksum: %w", what, r.Index, ErrDamaged)
	}
	return r, nil
}

// WatchLog implements store.LogWatcher.
func (s *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	hints, err := s.watch(ctx, &watch{log: true})
	return hints, s.wrap(err, "watch log")
}

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, s.wrap(err, "watch")
	}
	hints, err := s.watch(ctx, &watch{prefix: prefix})
	return hints, s.wrap(err, "watch %q", prefix)
}

func (s *Store) watch(ctx context.Context, w *watch) (<-chan struct{}, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.inside.Done()
	return s.notice.add(ctx, w)
}

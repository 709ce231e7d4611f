package postgres

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// journal is the log: a table of records, and one row with the newest index, whose lock gives appends their order.
type journal struct {
	s    *schema
	head inner.Head
	page atomic.Int64 // how many records the next read asks for
}

const (
	// A request limits records, not bytes. So the first read of a handle requests few, and each later one as many as
	// should have about pageBytes, judging by the previous one.
	firstPage   = 128
	mostPage    = 4096
	pageBytes   = 4 << 20
	appendBytes = 256 << 20 // a server takes no message of a gigabyte
	freeMost    = 2000      // records that one statement removes, so that it does not keep others waiting
	vacuumDue   = 1000      // a removal of more gives the space to the records that come
)

// Journal implements driver.Journals. A schema has one log.
func (s *schema) Journal() driver.Journal { return &s.journal }

// bounded is an index as the server counts; no record has a larger one.
func bounded(index uint64) int64 { return int64(min(index, math.MaxInt64)) } //nolint:gosec // it fits

// Append implements driver.Journal with one statement, so that the server needs no further word of this process to end
// the transaction, in which it keeps others from appending.
func (j *journal) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	size := 0
	for _, r := range records {
		if err := inner.CheckSize(r, MaxRecord+1); err != nil {
			return nil, err
		}
		size += len(r)
	}
	if len(records) > batch || size > appendBytes {
		return nil, fmt.Errorf("%d records with %d bytes: %w", len(records), size, store.ErrTooLarge)
	}
	ctx, leave, err := j.s.life.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	rows, err := j.s.change(ctx, sqlAppend, records)
	switch {
	case err != nil:
		return nil, err
	case len(rows) != 1:
		return nil, errNoHead
	}
	last := rows[0].index(0)
	j.head.Reached(last)
	indexes := make([]uint64, len(records))
	for i := range indexes {
		indexes[i] = last - uint64(len(records)-1-i) //nolint:gosec // i is less
	}
	return indexes, nil
}

var errNoHead = fmt.Errorf("%w: the table head has no row", ErrDamaged)

// Read implements driver.Journal, from one instant.
func (j *journal) Read(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	ctx, leave, err := j.s.life.Enter(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	defer leave()
	rows, err := j.s.ask(ctx, sqlRead, bounded(after), min(int64(n), j.page.Load()))
	switch {
	case err != nil:
		return nil, 0, 0, err
	case len(rows) == 0:
		return nil, 0, 0, errNoHead
	}
	head = rows[0].index(0)
	if err := j.head.Believe(head); err != nil || after >= head || n < 1 {
		return nil, 0, head, err
	}
	size := 0
	for i, r := range rows {
		want := after + 1 + uint64(i) //nolint:gosec // not negative
		if r[1] == nil || r.index(1) != want {
			first, err = j.missing(ctx, want)
			return nil, first, head, err
		}
		records = append(records, store.Record{Index: want, Data: r[2]})
		size += len(r[2])
	}
	j.page.Store(min(max(int64(len(records))*pageBytes/int64(size+1), 4), mostPage))
	return records, 0, head, nil
}

// missing says where the log begins, if it begins behind a record that is missing: else the record is lost.
func (j *journal) missing(ctx context.Context, index uint64) (first uint64, err error) {
	rows, err := j.s.ask(ctx, sqlFirst)
	switch {
	case err != nil:
		return 0, err
	case len(rows) != 1:
		return 0, errNoHead
	}
	if first = rows[0].index(0); first > index {
		return first, nil
	}
	return 0, fmt.Errorf("%w: record %d is missing: the log begins at %d", ErrDamaged, index, first)
}

// Free implements driver.Journal: it removes the oldest records, as many as one statement may, until none is left. The
// server reuses their space after a vacuum.
func (j *journal) Free(ctx context.Context, upTo uint64) error {
	ctx, leave, err := j.s.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var removed int64
	for {
		rows, err := j.s.change(ctx, sqlTrim, bounded(upTo), freeMost)
		if err != nil {
			return err
		}
		n := rows[0].int(0)
		if removed += n; n < freeMost {
			break
		}
	}
	if removed > vacuumDue {
		j.s.vacuum(ctx)
	}
	return nil
}

// vacuum makes the space of removed records and snapshots free, and gives what is at the end of the table's file back.
// Without the right to do so, the server's own vacuum does it later. The records are free whatever becomes of it.
func (s *schema) vacuum(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := s.workers.get(ctx)
	if err == nil {
		err = c.run(ctx, s.layout.text(sqlVacuum))
		s.workers.put(c)
	}
	if err != nil {
		s.log.Debug("vacuum the log; the server will", "err", err)
	}
}

// Start implements driver.Journal.
func (j *journal) Start(ctx context.Context, index uint64) error {
	ctx, leave, err := j.s.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	rows, err := j.s.change(ctx, sqlStart, bounded(index))
	if err != nil || len(rows) == 1 {
		return err
	}
	return fmt.Errorf("the log is not empty: %w", store.ErrConflict)
}

// Watch implements driver.Journal.
func (j *journal) Watch(ctx context.Context, hint func()) error {
	return j.s.watch(ctx, &watch{log: true, hint: hint})
}

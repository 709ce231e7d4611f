package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/rota-run/rota/store"
)

// A request limits records, not bytes. So the first read of a handle requests few, and each later one as many as should have
// about pageBytes, judging by the previous one.
const (
	firstPage = 128
	mostPage  = 4096
	pageBytes = 4 << 20
)

// bounded is an index as the server counts; no record has a larger one.
func bounded(index uint64) int64 { return int64(min(index, math.MaxInt64)) } //nolint:gosec // it fits

// Read implements store.Log. All its results are from one instant.
func (s *Store) Read(ctx context.Context, after uint64, limit int) (_ store.Page, err error) {
	defer s.place.Wrap(&err, "read log after %d", after)
	if limit < 1 {
		return store.Page{}, fmt.Errorf("limit is %d: give at least 1", limit)
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return store.Page{}, err
	}
	defer leave()
	rows, err := s.ask(ctx, sqlRead, bounded(after), min(int64(limit), s.page.Load()))
	if err != nil {
		return store.Page{}, err
	}
	return s.pageOf(rows, after)
}

func (s *Store) pageOf(rows []row, after uint64) (store.Page, error) {
	if len(rows) == 0 {
		return store.Page{}, fmt.Errorf("%w: the table head has no row", ErrDamaged)
	}
	page := store.Page{Head: uint64(rows[0].int(0))} //nolint:gosec // not negative
	if after >= page.Head {
		return page, nil
	}
	trimmed, size := uint64(rows[0].int(1)), 0 //nolint:gosec // not negative
	for i, r := range rows {
		want := after + 1 + uint64(i)                //nolint:gosec // not negative
		if r[2] != nil && uint64(r.int(2)) == want { //nolint:gosec // not negative
			page.Records = append(page.Records, store.Record{Index: want, Data: r[3]})
			size += len(r[3])
			continue
		}
		// Records are trimmed from the oldest on, and never beyond the snapshot.
		if i == 0 && after < trimmed {
			return store.Page{}, fmt.Errorf("record %d was trimmed: %w", want, store.ErrTruncated)
		}
		return store.Page{}, fmt.Errorf("%w: record %d is missing: the snapshot is of %d", ErrDamaged, want, trimmed)
	}
	s.page.Store(min(max(int64(len(page.Records))*pageBytes/int64(size+1), 4), mostPage))
	return page, nil
}

package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// A page ends after this many records, or bytes plus the records that were requested together with the last one.
const (
	pageRecords = 4096
	pageBytes   = 8 << 20
	pageStep    = 256
)

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, after uint64, limit int) (page store.Page, err error) {
	defer driver.Wrap(&err, "read log after %d", after)
	if limit < 1 {
		return store.Page{}, fmt.Errorf("limit is %d: give at least 1", limit)
	}
	if err := s.enter(ctx); err != nil {
		return store.Page{}, err
	}
	err = s.fresh(ctx, func() error {
		page, err = s.page(ctx, after, min(limit, pageRecords))
		return err
	})
	return page, s.lost(err)
}

// page reads from the connected server, which has caught up.
func (s *Store) page(ctx context.Context, after uint64, limit int) (store.Page, error) {
	h, err := s.readHeader(ctx)
	if err != nil {
		return store.Page{}, err
	}
	if after < h.trimmed {
		return store.Page{}, fmt.Errorf("trimmed up to %d: %w", h.trimmed, store.ErrTruncated)
	}
	page := store.Page{Head: h.head}
	if after >= h.head {
		return page, nil
	}
	n := int(min(h.head-after, uint64(limit))) //nolint:gosec // at most limit
	for size := 0; len(page.Records) < n && size < pageBytes; {
		records, err := s.records(ctx, after+uint64(len(page.Records)), min(pageStep, n-len(page.Records)))
		if err != nil {
			return store.Page{}, s.missing(ctx, after, err)
		}
		for _, r := range records {
			size += len(r.Data)
		}
		page.Records = append(page.Records, records...)
	}
	return page, nil
}

// records reads n records behind after.
func (s *Store) records(ctx context.Context, after uint64, n int) ([]store.Record, error) {
	records := make([]store.Record, n)
	err := parallel(ctx, n, func(ctx context.Context, i int) error {
		index := after + 1 + uint64(i) //nolint:gosec // i is not negative
		path := s.recordPath(index)
		got, err := s.node(ctx, path)
		if err != nil {
			return err
		}
		_, data, err := decodeRecord(path, got.data)
		records[i] = store.Record{Index: index, Data: data}
		return err
	})
	return records, err
}

// missing says why a record is not there: it was trimmed while the page was read, or somebody else deleted it.
func (s *Store) missing(ctx context.Context, after uint64, err error) error {
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	h, herr := s.readHeader(ctx)
	switch {
	case herr != nil:
		return herr
	case after < h.trimmed:
		return fmt.Errorf("trimmed up to %d: %w", h.trimmed, store.ErrTruncated)
	}
	return fmt.Errorf("a record after %d is missing below %s: %w", after, s.at(logNode), ErrDamaged)
}

package log

import (
	"context"
	"fmt"
	"math"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// ends are the bounds of the log: all up to base is trimmed, as far as is known, and end is the newest index.
func (l *Log) ends(ctx context.Context) (base, end uint64, err error) {
	if l.order == nil {
		_, s, err := l.head(ctx)
		return s.base, s.end(), err
	}
	_, first, end, err := l.order.Read(ctx, math.MaxUint64, 0)
	return max(first, 1) - 1, end, err
}

// readJournal reads the log, and other rows, which are returned with an error of the log.
func (l *Log) readJournal(
	ctx context.Context, after uint64, limit int, others []string,
) (store.Page, []driver.Row, error) {
	var beside []driver.Row
	if len(others) > 0 {
		rows, err := l.rows.Read(ctx, driver.Query{Keys: others})
		if err != nil {
			return store.Page{}, nil, err
		}
		beside = rows.Keys
	}
	records, first, head, err := l.order.Read(ctx, after, limit)
	switch {
	case err != nil:
		return store.Page{}, beside, err
	case first > 0 && after < first-1:
		return store.Page{}, beside, fmt.Errorf("trimmed up to %d: %w", first-1, store.ErrTruncated)
	}
	return store.Page{Records: records, Head: head}, beside, nil
}

// trimJournal frees the records up to an index, which the snapshot covers that counts.
func (l *Log) trimJournal(ctx context.Context, upTo uint64) error {
	if upTo == 0 {
		return nil
	}
	return l.order.Free(ctx, upTo)
}

// beginJournal begins an unused journal. A snapshot says that the log is in use, also where it has no records.
func (l *Log) beginJournal(ctx context.Context, index uint64) error {
	_, saved, err := l.pointer(ctx)
	if err == nil && saved != "" {
		err = fmt.Errorf("the log has a snapshot: %w", store.ErrConflict)
	}
	if err != nil {
		return err
	}
	return l.order.Start(ctx, index)
}

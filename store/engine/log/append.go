package log

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
)

// appendAll appends records, at most l.batch, all or none, at the indexes that it returns.
func (l *Log) appendAll(ctx context.Context, records [][]byte) (indexes []uint64, err error) {
	if l.order != nil {
		indexes, err = l.order.Append(ctx, records)
	} else {
		indexes, err = l.appendRows(ctx, records)
	}
	if err != nil {
		return nil, told(ctx, err, "append")
	}
	return indexes, nil
}

// AppendWith appends a record, and creates rows with it that it names. What is light need not survive a power cut that
// no later record survives.
func (l *Log) AppendWith(ctx context.Context, record []byte, light bool, with []driver.Op) (uint64, error) {
	order, ok := l.order.(driver.JournalWith)
	if !ok {
		if err := l.rows.Data(ctx, with); err != nil {
			return 0, told(ctx, err, "append")
		}
		return l.Append(ctx, record)
	}
	if err := l.refuse(record); err != nil {
		return 0, err
	}
	index, err := order.AppendWith(ctx, record, light, with)
	if err != nil {
		return 0, told(ctx, err, "append")
	}
	return index, nil
}

// appendRows appends records to the rows, where indexes are dense.
func (l *Log) appendRows(ctx context.Context, records [][]byte) (indexes []uint64, err error) {
	first, err := l.append(ctx, records)
	for i := range records {
		indexes = append(indexes, first+uint64(i)) //nolint:gosec // i is not negative
	}
	return indexes, err
}

// MaxRecord is the largest record.
func (l *Log) MaxRecord() int { return engine.MaxValue(l.rows.Limits()) }

// refuse refuses a record that is too large.
func (l *Log) refuse(data []byte) error {
	if most := l.MaxRecord(); len(data) > most {
		return fmt.Errorf("append %d bytes, at most %d: %w", len(data), most, store.ErrTooLarge)
	}
	return nil
}

func (l *Log) append(ctx context.Context, records [][]byte) (uint64, error) {
	row, _, _ := l.remembered()
	b, c := batch{records: records}, contest{}
	for {
		var s state
		var err error
		if row.Version == "" {
			row, s, err = l.head(ctx)
		} else {
			s, err = l.learn(row)
		}
		if err != nil {
			return 0, err
		}
		for _, p := range s.full() {
			if err := l.rows.Once(ctx, l.pageKey(s.pageEnd(p.after+1)), p.encode(nil)); err != nil {
				return 0, err
			}
		}
		name, index := l.rows.NewName(), s.end()+1
		if err := l.lay(ctx, &b, index); err != nil {
			return 0, err
		}
		began := time.Now()
		next, pages := s.without().added(name, b.entries)
		err = l.swap(ctx, row, next, name, l.pages(pages)...)
		took := time.Since(began)
		done, err := l.outcome(ctx, err, index, name)
		if done || err != nil {
			return index, err
		}
		if err := l.pause(ctx, c.lose(took, sumOf([]byte(name)))); err != nil {
			return 0, err // it will never be done
		}
		row = driver.Row{} // others went on meanwhile
	}
}

// pages are the writes of pages that go with a swap. Nobody looks for them by a name: their records have it.
func (l *Log) pages(pages []page) (ops []driver.Op) {
	for _, p := range pages {
		key := l.pageKey(p.after + uint64(len(p.entries)))
		ops = append(ops, driver.Op{Key: key, Value: p.encode(nil), Once: true})
	}
	return ops
}

// outcome says what an append came to whose swap returned err: done, or an error, or neither: then it will never be
// done, and may be tried again.
func (l *Log) outcome(ctx context.Context, err error, index uint64, name string) (done bool, _ error) {
	var d *engine.Doubt
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrConflict):
		return false, nil
	case !errors.As(err, &d) || d.Row == nil:
		return false, err
	}
	s, failed := l.learn(*d.Row)
	if failed != nil {
		return false, errors.Join(err, failed)
	}
	who := s.whose(index, name)
	if who != inPage {
		return who == ours, nil
	}
	row, failed := l.rows.Get(ctx, l.pageKey(s.pageEnd(index)))
	if failed != nil {
		return false, errors.Join(err, failed)
	}
	if row.Version == "" {
		return false, err // it was trimmed, and freed
	}
	p, failed := decodePage(row.Value)
	if failed != nil {
		return false, errors.Join(err, failed)
	}
	return p.has(index, name), nil
}

// wait waits, unless ctx ends before.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

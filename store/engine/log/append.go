package log

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
)

// AppendAll appends 1 to MaxBatch records, all or none, at the index that it returns and those behind it. It has one
// outcome for all, as Append.
func (l *Log) AppendAll(ctx context.Context, records [][]byte) (first uint64, err error) {
	if len(records) < 1 || len(records) > MaxBatch {
		return 0, fmt.Errorf("append %d records: give 1 to %d", len(records), MaxBatch)
	}
	for _, r := range records {
		if err := l.refuse(r); err != nil {
			return 0, err
		}
	}
	first, err = l.append(ctx, records)
	if err != nil {
		return 0, told(ctx, err, "append")
	}
	return first, nil
}

// MaxRecord is the largest record.
func (l *Log) MaxRecord() int { return l.rows.Limits().Value }

// refuse refuses a record that is too large.
func (l *Log) refuse(data []byte) error {
	if most := l.MaxRecord(); len(data) > most {
		return fmt.Errorf("append %d bytes, at most %d: %w", len(data), most, store.ErrTooLarge)
	}
	return nil
}

func (l *Log) append(ctx context.Context, records [][]byte) (uint64, error) {
	row, _, _ := l.remembered()
	b := batch{records: records}
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
		err = l.swap(ctx, row, s.without().added(name, b.entries), name)
		done, now, err := l.outcome(ctx, err, index, name)
		if done || err != nil {
			return index, err
		}
		row = now
	}
}

// outcome says what an append came to whose swap returned err: done, or an error, or neither: then it will never be
// done, and may be tried again. The head that stands now is returned if it is known.
func (l *Log) outcome(ctx context.Context, err error, index uint64, name string) (done bool, now driver.Row, _ error) {
	var c *driver.Conflict
	if errors.As(err, &c) {
		if c.Row != nil {
			now = *c.Row
		}
		return false, now, nil
	}
	var d *engine.Doubt
	if !errors.As(err, &d) || d.Row == nil {
		return err == nil, now, err
	}
	s, failed := l.learn(*d.Row)
	if failed != nil {
		return false, now, errors.Join(err, failed)
	}
	who := s.whose(index, name)
	if who != inPage {
		return who == ours, *d.Row, nil
	}
	row, failed := l.rows.Get(ctx, l.pageKey(s.pageEnd(index)))
	if failed != nil {
		return false, now, errors.Join(err, failed)
	}
	if row.Version == "" {
		return false, now, err // it was trimmed, and freed
	}
	p, failed := decodePage(row.Value)
	if failed != nil {
		return false, now, errors.Join(err, failed)
	}
	return p.has(index, name), *d.Row, nil
}

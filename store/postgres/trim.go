package postgres

import (
	"context"
	"time"
)

const (
	trimMost  = 2000 // records that one statement removes at most, so that it does not keep others waiting
	vacuumDue = 1000 // a trim that removed more gives the space to the records that come
)

// Trim implements store.Log. The server reuses the space of the removed records after a vacuum, which Trim requests when it has removed many.
func (s *Store) Trim(ctx context.Context, index uint64) error {
	return s.place.Failed(s.trim(ctx, index), "trim log to %d", index)
}

func (s *Store) trim(ctx context.Context, index uint64) error {
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var removed int64
	for {
		n, more, err := s.trimOnce(ctx, bounded(index))
		removed += n
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if removed > vacuumDue {
		s.vacuum(ctx)
	}
	return nil
}

// trimOnce removes the oldest records up to index, as many as one statement may; more: there may be others.
func (s *Store) trimOnce(ctx context.Context, index int64) (removed int64, more bool, err error) {
	rows, err := s.ask(ctx, sqlOldest, index)
	if err != nil || len(rows) == 0 || rows[0][1] == nil {
		return 0, false, err
	}
	last, oldest := rows[0].int(0), rows[0].int(1)
	if oldest > last {
		return 0, false, nil
	}
	to := min(last, oldest+trimMost-1)
	if rows, err = s.change(ctx, sqlTrim, to); err != nil {
		return 0, false, err
	}
	return rows[0].int(0), to < last, nil
}

// vacuum makes the space of removed records and snapshots free, and gives what is at the end of the table's file back. Without the right to do so, the server's own
// vacuum does it later. The log is trimmed whatever becomes of it.
func (s *Store) vacuum(ctx context.Context) {
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

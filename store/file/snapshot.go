package file

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// A trim works in steps, so that others get their turn.
const (
	trimRows  = 2048
	freePages = 4096
)

// snapshotsKept are two: the older one serves if the newest turns out damaged and the log still reaches back to it.
const snapshotsKept = 2

// Snapshot implements store.Log.
func (s *Store) Snapshot(ctx context.Context) (store.Record, error) {
	r, err := s.snapshot(ctx)
	return r, s.wrap(err, "read snapshot")
}

func (s *Store) snapshot(ctx context.Context) (store.Record, error) {
	if err := s.enter(ctx); err != nil {
		return store.Record{}, err
	}
	defer s.inside.Done()
	rows, err := s.reads.QueryContext(ctx, `SELECT idx, sum, data FROM snapshots WHERE idx >= (SELECT trimmed FROM meta) ORDER BY idx DESC`)
	if err != nil {
		return store.Record{}, readError(ctx, err)
	}
	defer rows.Close()
	var damaged error
	for rows.Next() {
		r, err := scanRecord(rows, "snapshot at")
		if err == nil {
			if damaged != nil {
				s.log.Error("read the older snapshot, since the newest is damaged", "dir", s.dir, "index", r.Index, "error", damaged)
			}
			return r, nil
		}
		damaged = err
	}
	switch {
	case rows.Err() != nil:
		return store.Record{}, readError(ctx, rows.Err())
	case damaged != nil:
		return store.Record{}, readError(ctx, damaged)
	}
	return store.Record{}, store.ErrNotFound
}

// SaveSnapshot implements store.Log. A snapshot of an index that the log has not reached is refused.
func (s *Store) SaveSnapshot(ctx context.Context, r store.Record) error {
	return s.wrap(s.saveSnapshot(ctx, r), "save snapshot at %d", r.Index)
}

func (s *Store) saveSnapshot(ctx context.Context, r store.Record) error {
	if err := driver.CheckSize(r.Data, MaxSnapshot); err != nil {
		return err
	}
	data := append(make([]byte, 0, len(r.Data)), r.Data...)
	return s.change(ctx, len(data), func(tx *tx) error {
		head, err := head(tx)
		if err != nil {
			return err
		}
		if r.Index == 0 || r.Index > head {
			return refuse(fmt.Errorf("the log has the indexes 1 to %d", head))
		}
		newest, err := newestSnapshot(tx)
		if err != nil || r.Index <= newest {
			return err
		}
		if _, err := tx.exec(`INSERT INTO snapshots (idx, sum, data) VALUES (?, ?, ?)`, int64(r.Index), recordSum(r.Index, data), data); err != nil {
			return err
		}
		_, err = tx.exec(`DELETE FROM snapshots WHERE idx NOT IN (SELECT idx FROM snapshots ORDER BY idx DESC LIMIT ?)`, snapshotsKept)
		return err
	})
}

func newestSnapshot(tx *tx) (index uint64, err error) {
	err = tx.row(`SELECT coalesce(max(idx), 0) FROM snapshots`, nil, []any{&index})
	return index, err
}

// Trim implements store.Log. The space is returned to the file system. If ctx ends meanwhile, the records count as
// trimmed, and the next Trim frees the rest of the space.
func (s *Store) Trim(ctx context.Context, index uint64) error {
	for {
		var more bool
		err := s.change(ctx, 0, func(tx *tx) (err error) {
			more, err = trimStep(tx, index)
			return err
		})
		if err != nil || !more {
			return s.wrap(err, "trim log to %d", index)
		}
	}
}

// trimStep marks everything up to index as trimmed and frees a part of it; more says that there is more to free.
func trimStep(tx *tx, index uint64) (more bool, err error) {
	newest, err := newestSnapshot(tx)
	if err != nil {
		return false, err
	}
	to := int64(min(index, newest))
	if _, err := tx.exec(`UPDATE meta SET trimmed = ?1 WHERE trimmed < ?1`, to); err != nil {
		return false, err
	}
	// The newest record stays, emptied: it holds the place of the head.
	if _, err := tx.exec(`UPDATE log SET data = x'', sum = 0 WHERE idx = (SELECT max(idx) FROM log) AND idx <= ? AND data <> x''`, to); err != nil {
		return false, err
	}
	deleted, err := tx.exec(`DELETE FROM log WHERE idx IN (SELECT idx FROM log WHERE idx <= ? AND idx < (SELECT max(idx) FROM log) ORDER BY idx LIMIT ?)`, to, trimRows)
	if err != nil || deleted == 0 {
		return false, err
	}
	_, err = tx.exec(fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, freePages))
	return deleted == trimRows, err
}

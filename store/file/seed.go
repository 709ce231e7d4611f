package file

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
)

// SeedLog implements store.Seeder.
func (s *Store) SeedLog(ctx context.Context, index uint64) error {
	return s.wrap(s.seed(ctx, index), "seed log at %d", index)
}

func (s *Store) seed(ctx context.Context, index uint64) error {
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	return s.change(ctx, 0, func(tx *tx) error {
		var head, trimmed, snapshot uint64
		row := `SELECT (SELECT coalesce(max(idx), 0) FROM log), trimmed, (SELECT coalesce(max(idx), 0) FROM snapshots) FROM meta`
		if err := tx.row(row, nil, []any{&head, &trimmed, &snapshot}); err != nil {
			return err
		}
		switch {
		case head == index && trimmed == index && snapshot == 0:
			return nil
		case head != 0:
			return refuse(fmt.Errorf("the log ends at %d: %w", head, store.ErrConflict))
		}
		// As after a trim, an emptied record holds the place of the head.
		if _, err := tx.exec(`INSERT INTO log (idx, sum, data) VALUES (?, 0, x'')`, int64(index)); err != nil {
			return err
		}
		_, err := tx.exec(`UPDATE meta SET trimmed = ?`, int64(index))
		tx.index = index
		tx.changed.log()
		return err
	})
}

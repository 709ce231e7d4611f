package postgres

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
)

// SeedLog implements store.Seeder.
func (s *Store) SeedLog(ctx context.Context, index uint64) error {
	return s.place.Failed(s.seed(ctx, index), "seed log at %d", index)
}

func (s *Store) seed(ctx context.Context, index uint64) error {
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	rows, err := s.change(ctx, sqlSeed, bounded(index))
	if err != nil || len(rows) == 1 {
		return err
	}
	return fmt.Errorf("the log is not empty: %w", store.ErrConflict)
}

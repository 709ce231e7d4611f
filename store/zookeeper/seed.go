package zookeeper

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// SeedLog implements store.Seeder: it sets the header.
func (s *Store) SeedLog(ctx context.Context, index uint64) (err error) {
	defer driver.Wrap(&err, "seed log at %d", index)
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	if err := s.enterWriting(ctx); err != nil {
		return err
	}
	p, err := s.freshPointer(ctx)
	if err != nil {
		return s.lost(err)
	}
	want := header{index, index, index}
	h, err := s.change(ctx, func(h header) header {
		if h == (header{}) && p.index == 0 {
			return want
		}
		return h
	})
	if err != nil {
		return s.failed(err)
	}
	if h != want || p.index != 0 {
		return fmt.Errorf("the log ends at %d: %w", h.head, store.ErrConflict)
	}
	return nil
}

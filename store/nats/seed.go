package nats

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// SeedLog implements store.Seeder: a purge up to a sequence that an empty stream has not reached moves its sequence there.
func (s *Store) SeedLog(ctx context.Context, index uint64) (err error) {
	defer driver.Wrap(&err, "seed log at %d", index)
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	if err := s.enterChange(ctx); err != nil {
		return err
	}
	_, p, err := s.pointer(ctx)
	if err != nil {
		return err
	}
	state, err := s.logState(ctx)
	switch {
	case err != nil:
		return err
	case p.Index != 0 || state.Last != 0 && (state.Last != index || state.Messages > 0):
		return fmt.Errorf("the log ends at %d: %w", state.Last, store.ErrConflict)
	case state.Last == index:
		return nil
	}
	return s.purge(ctx, s.names.log(), purgeRequest{Seq: index + 1})
}

package log

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
)

// SeedLog implements store.Seeder: a swap of an unused head.
func (l *Log) SeedLog(ctx context.Context, index uint64) error {
	if err := l.begin(ctx, index); err != nil {
		return told(ctx, err, "seed log at %d", index)
	}
	return nil
}

func (l *Log) begin(ctx context.Context, index uint64) error {
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	if l.order != nil {
		return l.beginJournal(ctx, index)
	}
	name := l.rows.NewName()
	s, err := l.change(ctx, func(s state) state {
		if s.end() == 0 {
			return s.begun(index, name)
		}
		return s
	})
	switch {
	case err != nil:
		return err
	case s.seed == name:
		return nil
	case !s.unused() || s.first != index:
		return fmt.Errorf("the log ends at %d: %w", s.end(), store.ErrConflict)
	}
	// Another one has begun the log there, perhaps this call, whose answer was lost. A snapshot says that it is in use.
	_, saved, err := l.pointer(ctx)
	if err == nil && saved != "" {
		err = fmt.Errorf("the log has a snapshot: %w", store.ErrConflict)
	}
	return err
}

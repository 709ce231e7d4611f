package doclog

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rota-run/rota/store"
)

// SeedLog implements store.Seeder. It takes the first index, as an append would, so that only one of them can be the first; then it raises what is trimmed. Who finds
// a seed at the first index finishes it.
func (l *log) SeedLog(ctx context.Context, index uint64) error {
	if err := l.seed(ctx, index); err != nil {
		return fmt.Errorf("seed log at %d: %w", index, told(ctx, err))
	}
	return nil
}

func (l *log) seed(ctx context.Context, index uint64) error {
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	m, _, err := l.readMeta(ctx)
	if err != nil {
		return err
	}
	if m.Base > 0 || m.Snapshot.Index > 0 {
		return l.seeded(ctx, index)
	}
	e := entry{kind: kindSeed, name: l.newName(), data: strconv.AppendUint(nil, index, 10)}
	s, err := l.place(ctx, 1, e)
	if err != nil {
		return err
	}
	if !s.ours {
		return l.taken(ctx, index)
	}
	m, err = l.finishSeed(ctx, e)
	switch {
	case err != nil:
		return unknown(err)
	case m.Seed == e.name:
		return nil
	}
	return l.seeded(ctx, index) // others had begun the log, and trimmed the first index
}

// taken answers a seed whose place is taken: by a record, or by a seed, which is finished first.
func (l *log) taken(ctx context.Context, index uint64) error {
	if err := l.pass(ctx, 1); err != nil {
		return err
	}
	return l.seeded(ctx, index)
}

// seeded reports whether the log begins behind index, with nothing in it.
func (l *log) seeded(ctx context.Context, index uint64) error {
	head, err := l.head(ctx)
	if err != nil {
		return err
	}
	m, _, err := l.readMeta(ctx)
	switch {
	case err != nil:
		return err
	case m.Base == index && head == index && m.Snapshot.Index == 0:
		return nil
	}
	return fmt.Errorf("the log ends at %d: %w", head, store.ErrConflict)
}

// finishSeed makes a seed effective. If the log is in use, the seed is below the trimmed index, and changes nothing.
func (l *log) finishSeed(ctx context.Context, e entry) (meta, error) {
	index, err := e.seedIndex()
	if err != nil {
		return meta{}, err
	}
	m, err := l.change(ctx, func(m meta) meta {
		if m.Base == 0 {
			m.Base, m.Freed, m.Seed = index, index, e.name
		}
		return m
	})
	if err != nil {
		return meta{}, err
	}
	l.reached(m.Base)
	d, err := l.docs.Get(ctx, l.entryKey(1))
	if err == nil {
		l.remove(ctx, d.Key, d.Version)
	} else if !errors.Is(err, store.ErrNotFound) {
		l.o.Logger.Debug("look for the seed of the log", "err", err)
	}
	return m, nil
}

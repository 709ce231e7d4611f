package doclog

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
)

// sweepAtMost is how many entries may be left to list all of them, with their data. Where there are more, only those that are to go are looked at,
// one by one.
const sweepAtMost = 20_000

// Trim implements store.Log. First the state says what is trimmed, in one step; then the documents are removed. If that does not come to its end, the records
// count as trimmed all the same, the outcome is called unknown, and the next Trim removes the rest.
func (l *log) Trim(ctx context.Context, index uint64) error {
	if err := l.trim(ctx, index); err != nil {
		return fmt.Errorf("trim log to %d: %w", index, told(ctx, err))
	}
	return nil
}

func (l *log) trim(ctx context.Context, index uint64) error {
	m, err := l.change(ctx, func(m meta) meta {
		m.Base = max(m.Base, min(index, m.Snapshot.Index))
		return m
	})
	if err != nil {
		return err
	}
	l.reached(m.Base)
	if m.Freed == m.Base {
		return nil
	}
	if err := l.free(ctx, m); err != nil {
		return unknown(err)
	}
	_, err = l.change(ctx, func(now meta) meta {
		now.Freed = max(now.Freed, m.Base)
		return now
	})
	if err != nil {
		return unknown(err)
	}
	return nil
}

// free removes all entries up to the base: those in the list, among which may be some that were created too late, below an older base; and those behind
// the last ones that were removed which the list does not have, since it may lag.
func (l *log) free(ctx context.Context, m meta) error {
	listed, err := l.list(ctx, m)
	if err != nil {
		return err
	}
	gone := make(map[uint64]bool, len(listed))
	for _, d := range listed {
		index, _ := l.indexOf(d.Key)
		gone[index] = true
	}
	err = l.each(len(listed), func(i int) error { return l.drop(ctx, listed[i]) })
	if err != nil {
		return err
	}
	return l.each(int(m.Base-m.Freed), func(i int) error { //nolint:gosec // more records than fit an int would not fit a store
		index := m.Freed + 1 + uint64(i) //nolint:gosec // i is not negative
		if gone[index] {
			return nil
		}
		d, err := l.docs.Get(ctx, l.entryKey(index))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return l.drop(ctx, d)
	})
}

// list returns the documents of entries up to the base, without their data. It is a hint, and empty where there would be too many.
func (l *log) list(ctx context.Context, m meta) ([]store.Doc, error) {
	if l.reachedSoFar()-m.Freed > sweepAtMost {
		return nil, nil
	}
	docs, err := l.docs.List(ctx, l.entries())
	if err != nil {
		return nil, err
	}
	var out []store.Doc
	for _, d := range docs {
		if index, ok := l.indexOf(d.Key); ok && index <= m.Base {
			out = append(out, store.Doc{Key: d.Key, Version: d.Version})
		}
	}
	return out, nil
}

// drop removes an entry below the base. Another version of it was created too late; the next list has it.
func (l *log) drop(ctx context.Context, d store.Doc) error {
	err := l.docs.Delete(ctx, d.Key, d.Version)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

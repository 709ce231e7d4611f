package log

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// listed is how many rows one request of a sweep asks for.
const listed = 1000

// Trim implements store.Log. First the head says what is trimmed, then the pages are freed. If that does not come to
// its end, the records count as trimmed all the same, the outcome is called unknown, and the next trim frees the rest.
func (l *Log) Trim(ctx context.Context, index uint64) error {
	if err := l.trim(ctx, index); err != nil {
		return told(ctx, err, "trim log to %d", index)
	}
	return nil
}

func (l *Log) trim(ctx context.Context, index uint64) error {
	snap, _, err := l.pointer(ctx)
	if err != nil || snap.Index == 0 {
		return err
	}
	if l.order != nil {
		return l.trimJournal(ctx, min(index, snap.Index))
	}
	s, err := l.change(ctx, func(s state) state { return s.trimmed(min(index, snap.Index)) })
	if err != nil {
		return err
	}
	if err := l.free(ctx, s); err != nil {
		return fmt.Errorf("%w: free what is trimmed: %w", store.ErrUnknown, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed = max(l.freed, s.base) // a later swap of the head carries it
	return nil
}

// free frees what is trimmed: pages behind the last ones that were freed, by their names; those that came late, by a
// list; and blobs.
func (l *Log) free(ctx context.Context, s state) error {
	_, _, freed := l.remembered()
	first := s.pageEnd(max(freed, s.freed) + 1)
	var keys []string
	if s.size > withPage { // those that are written with the head do not come late
		var err error
		if keys, err = l.list(ctx, l.pageKey(0), l.pageKey(first)); err != nil {
			return err
		}
	}
	for end := first; end <= s.base; end += s.size {
		keys = append(keys, l.pageKey(end))
	}
	if len(keys) > 0 {
		if err := l.rows.Free(ctx, keys); err != nil {
			return err
		}
	}
	if s.base < l.reach {
		return nil
	}
	keys, err := l.list(ctx, l.blobKey(""), l.blobKey(fmt.Sprintf("%020d.", s.base-l.reach)))
	if err != nil || len(keys) == 0 {
		return err
	}
	return l.rows.Free(ctx, keys)
}

// list are the keys of a range.
func (l *Log) list(ctx context.Context, from, to string) (keys []string, err error) {
	q := driver.Query{From: from, To: to, Limit: listed, Bare: true}
	for {
		rows, err := l.rows.Read(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, row := range rows.Range {
			keys = append(keys, row.Key)
		}
		if !rows.More || len(rows.Range) == 0 {
			return keys, nil
		}
		q.From = keys[len(keys)-1] + "\x00"
	}
}

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

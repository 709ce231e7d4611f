package log

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// listed is how many rows one request of a sweep asks for.
const listed = 1000

// Trim implements store.Log. First the head says what is trimmed, then the pages are freed. If that does not come to its end, the records count as trimmed
// all the same, the outcome is called unknown, and the next trim frees the rest.
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

// free frees the pages that are trimmed: those behind the last ones that were freed, by their names, and what came late, by a list.
func (l *Log) free(ctx context.Context, s state) error {
	_, _, freed := l.remembered()
	freed = max(freed, s.freed)
	first := s.pageEnd(freed + 1)
	keys, err := l.late(ctx, first)
	if err != nil {
		return err
	}
	for end := first; end <= s.base; end += s.size {
		keys = append(keys, l.pageKey(end))
	}
	if len(keys) == 0 {
		return nil
	}
	return l.rows.Free(ctx, keys)
}

// late are the pages before one, which came late or which a crash has left.
func (l *Log) late(ctx context.Context, first uint64) (keys []string, err error) {
	q := driver.Query{From: l.pageKey(0), To: l.pageKey(first), Limit: listed, Bare: true}
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

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// End removes the documents of a life, whose process has ended, and sees to it that what the life has sent before comes
// to nothing. So it leaves a tombstone also where nothing stands yet. A document of another life stays.
func (d *Docs) End(ctx context.Context, life string, keys ...string) error {
	for _, key := range keys {
		if err := d.end(ctx, life, key); err != nil {
			return fmt.Errorf("end %q: %w", key, err)
		}
	}
	return nil
}

func (d *Docs) end(ctx context.Context, life, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	var lost error
	for range sends {
		row, err := d.rows.Get(ctx, docKey(key))
		if err != nil || leaves(row, life) {
			return err
		}
		op := driver.Op{Key: row.Key, Name: d.rows.NewName(), If: row.Version, Value: append([]byte{tomb}, life...)}
		_, err = d.rows.Put(ctx, op)
		if err == nil || !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown) {
			return err
		}
		lost = err // whatever came of it, a second tombstone does no harm
	}
	return errors.Join(store.ErrUnknown, lost)
}

// Quiet is how long a tombstone has to stand before it is freed. No call takes so long, and no request is executed so
// long after it was sent. So nobody looks any more for the name of the delete, and nothing that the tombstone would
// refuse is on its way.
const Quiet = 10 * time.Minute

// Sweeper frees the tombstones below a prefix. It is not safe for concurrent use; there may be several.
type Sweeper struct {
	docs   *Docs
	prefix string
	now    func() time.Duration // of its own clock
	stood  map[string]buried
}

// Sweeper makes one.
func (d *Docs) Sweeper(prefix string) *Sweeper {
	began := time.Now()
	return &Sweeper{docs: d, prefix: prefix, now: func() time.Duration { return time.Since(began) }}
}

// Sweep looks for tombstones, and frees those that it has seen unchanged for [Quiet] or longer. It compares versions:
// who creates a document over a tombstone meanwhile keeps it.
func (s *Sweeper) Sweep(ctx context.Context) error {
	at := moment{began: s.now()}
	rows, err := s.docs.list(ctx, s.prefix)
	if err != nil {
		return fmt.Errorf("sweep %q: %w", s.prefix, err)
	}
	at.ended = s.now()
	var free []driver.Row
	free, s.stood = ripe(rows, s.stood, at, Quiet)
	for _, row := range free {
		op := driver.Op{Key: row.Key, Name: s.docs.rows.NewName(), If: row.Version, Delete: true}
		_, err := s.docs.rows.Swap(ctx, op)
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown) {
			return fmt.Errorf("free the tombstone of %q: %w", strings.TrimPrefix(row.Key, "d/"), err)
		}
	}
	return nil
}

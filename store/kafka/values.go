package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rota-run/rota/store"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// PutValues implements driver.JournalValues: the place of a value is its offset.
func (j *journal) PutValues(ctx context.Context, values [][]byte) ([]string, error) {
	ctx, leave, err := j.values.line.call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	at := make([]string, 0, len(values))
	for len(values) > 0 {
		n := fitting(values)
		if n == 0 {
			return nil, inner.CheckSize(values[0], MaxRecord+1)
		}
		first, err := j.values.write(ctx, values[:n])
		if err != nil {
			return nil, inner.NotDone(j.gone(ctx, err))
		}
		for i := range int64(n) {
			at = append(at, strconv.FormatInt(first+i, 10))
		}
		values = values[n:]
	}
	return at, nil
}

// Values implements driver.JournalValues. What was put together is mostly read together.
func (j *journal) Values(ctx context.Context, at []string) ([][]byte, error) {
	ctx, leave, err := j.values.line.call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	out, have := make([][]byte, len(at)), make(map[int64][]byte)
	for i, place := range at {
		offset, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the place %q is no offset: %w", place, ErrDamaged)
		}
		if _, ok := have[offset]; !ok {
			err := j.values.note(ctx, offset, int32(min(leastBytes*(len(at)-i), fetchBytes)), have) //nolint:gosec // small
			if err != nil && !errors.Is(err, errAway) {
				return nil, j.gone(ctx, readError(ctx, err))
			}
		}
		out[i] = have[offset]
	}
	return out, nil
}

// note reads the record at an offset, and notes it with those that came along.
func (t *topic) note(ctx context.Context, offset int64, most int32, have map[int64][]byte) error {
	for {
		got, err := t.fetch(ctx, t.line.client, offset, most, 0)
		if err != nil {
			return err
		}
		for _, r := range got.records {
			data, ok, err := t.ours(r)
			if err != nil {
				return err
			}
			if ok {
				have[r.Offset] = data
			}
		}
		if _, ok := have[offset]; ok {
			return nil
		}
		if got.next > offset {
			return fmt.Errorf("topic %s has no record of ours at offset %d: %w", t.name, offset, ErrDamaged)
		}
		if err := pause(ctx, backoff(1)); err != nil { // a new leader does not yet know what all replicas have
			return err
		}
	}
}

// FreeValues implements driver.JournalValues.
func (j *journal) FreeValues(ctx context.Context, before string) error {
	ctx, leave, err := j.values.line.call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	offset, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return fmt.Errorf("the place %q is no offset: %w", before, store.ErrConflict)
	}
	return j.values.drop(ctx, offset)
}

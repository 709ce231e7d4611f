package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// seedMark is the header of a seed: the index at which the log that this one continues has ended.
const seedMark = "rota-seed"

// start is how indexes lie over offsets. It is decided by the first record of ours, and never changes; where that is trimmed, snapshots say it.
type start struct {
	Shift uint64 `json:"shift,omitempty"` // index = offset + 1 + Shift
	Seed  uint64 `json:"seed,omitempty"`  // the index of the seed; 0: the log begins with a record
}

// started returns how indexes lie; nil for an empty log, which may still be seeded.
func (g *topicLog) started(ctx context.Context) (*start, error) {
	if s := g.start.Load(); s != nil || g.unseeded {
		return s, nil
	}
	s, err := g.findStart(ctx)
	if s != nil {
		g.start.Store(s)
	}
	return s, err
}

func (g *topicLog) findStart(ctx context.Context) (*start, error) {
	first, err := g.records.end(ctx, earliest)
	if err != nil {
		return nil, err
	}
	if first > 0 {
		s, err := g.newestSnapshot(ctx)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("topic %s: its beginning was removed, and there is no snapshot: %w", g.records.name, ErrDamaged)
		}
		return &s.start, err
	}
	end, err := g.records.end(ctx, latest)
	for at := int64(0); err == nil && at < end; {
		var f fetched
		if f, err = g.records.fetch(ctx, g.line.client, at, leastBytes, 0); err != nil {
			break
		}
		for _, r := range f.records {
			if s := g.startAt(r); s != nil {
				return s, nil
			}
		}
		if f.next <= at {
			err = pause(ctx, backoff(1))
		}
		at = f.next
	}
	if errors.Is(err, errAway) { // trimmed meanwhile
		return g.findStart(ctx)
	}
	return nil, err
}

// startAt is what a record says of the start, if it is the first one of ours.
func (g *topicLog) startAt(r *kgo.Record) *start {
	if seed := seedOf(r); seed > uint64(r.Offset) {
		return &start{Shift: seed - uint64(r.Offset) - 1, Seed: seed}
	}
	if _, ok := g.ours(r); ok {
		return &start{}
	}
	return nil
}

// seedOf is the index that a seed names; 0: the record is none.
func seedOf(r *kgo.Record) uint64 {
	for _, h := range r.Headers {
		if h.Key == seedMark {
			seed, err := strconv.ParseUint(string(h.Value), 10, 64)
			if err == nil && store.CheckSeed(seed) == nil {
				return seed
			}
		}
	}
	return 0
}

// SeedLog implements store.Seeder: the first record decides how a log begins, and a seed is such a record.
func (g *topicLog) SeedLog(ctx context.Context, index uint64) (err error) {
	defer driver.Wrap(&err, "seed log at %d", index)
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	if err := g.line.enterChange(ctx); err != nil {
		return err
	}
	ctx, cancel := g.line.bounded(ctx)
	defer cancel()
	s, err := g.started(ctx)
	if err != nil {
		return readError(ctx, err)
	}
	if s == nil {
		h := kgo.RecordHeader{Key: seedMark, Value: strconv.AppendUint(nil, index, 10)}
		if err := g.records.produce(ctx, &kgo.Record{Headers: []kgo.RecordHeader{h}}); err != nil {
			return err
		}
		if s, err = g.started(ctx); err != nil || s == nil {
			return changeError(errors.Join(err, errors.New("the seed is not to be found")))
		}
	}
	page, err := g.read(ctx, *s, s.Seed, 1)
	if err != nil && !errors.Is(err, store.ErrTruncated) { // else others trimmed what they appended
		return changeError(err)
	}
	if _, err := g.newestSnapshot(ctx); s.Seed != index || page.Head != index || !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("the log ends at %d: %w", page.Head, store.ErrConflict)
	}
	return nil
}

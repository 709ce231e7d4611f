package kafka

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// MaxSnapshot is the maximum size of a snapshot.
const MaxSnapshot = 256 << 20

// partBytes is how much of a snapshot one record holds.
const partBytes = 512 << 10

// partMark is the header of the parts of a snapshot.
const partMark = "rota-snapshot"

// part is what the header of a record of the topic of snapshots says. The record with the last part completes the snapshot.
type part struct {
	ID    string `json:"id"`
	Index uint64 `json:"index"`
	Part  int    `json:"part"` // from 1
	Of    int    `json:"of"`
	Sum   []byte `json:"sum"` // of the part
	start
}

// found is a complete snapshot: where its parts are.
type found struct {
	index uint64
	first int64 // offset of its first part
	id    string
	parts int // that were read
	data  []byte
	start start
}

// Snapshot implements store.Log.
func (g *topicLog) Snapshot(ctx context.Context) (store.Record, error) {
	if err := g.line.enter(ctx); err != nil {
		return store.Record{}, fmt.Errorf("read snapshot: %w", err)
	}
	ctx, cancel := g.line.bounded(ctx)
	defer cancel()
	s, err := g.newestSnapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return store.Record{}, fmt.Errorf("read snapshot: %w", err)
	}
	if err != nil {
		return store.Record{}, fmt.Errorf("read snapshot: %w", readError(ctx, err))
	}
	return store.Record{Index: s.index, Data: s.data}, nil
}

// newestSnapshot reads the topic of snapshots, which holds few.
func (g *topicLog) newestSnapshot(ctx context.Context) (found, error) {
	for {
		s, err := g.scanSnapshots(ctx)
		if !errors.Is(err, errAway) { // else the oldest were removed while they were read
			return s, err
		}
	}
}

func (g *topicLog) scanSnapshots(ctx context.Context) (found, error) {
	end, err := g.snapshots.end(ctx, latest)
	if err != nil {
		return found{}, err
	}
	at, err := g.snapshots.end(ctx, earliest)
	if err != nil {
		return found{}, err
	}
	var best found
	open := make(map[string]*found)
	for at < end {
		f, err := g.snapshots.fetch(ctx, g.line.client, at, fetchBytes, 0)
		if err != nil {
			return found{}, err
		}
		for _, r := range f.records {
			if s := gather(open, r); s != nil && s.index > best.index {
				best = *s
			}
		}
		if f.next <= at {
			if err := pause(ctx, backoff(1)); err != nil {
				return found{}, err
			}
		}
		at = f.next
	}
	if best.index == 0 {
		return found{}, store.ErrNotFound
	}
	return best, nil
}

// gather adds a part to the snapshots that are not complete, and returns the one that it completes.
func gather(open map[string]*found, r *kgo.Record) *found {
	var p part
	for _, h := range r.Headers {
		if h.Key == partMark && json.Unmarshal(h.Value, &p) != nil {
			return nil
		}
	}
	if p.ID == "" || p.Part < 1 || p.Part > p.Of || !bytes.Equal(p.Sum, sumOf(r.Value)) {
		return nil // not ours
	}
	s := open[p.ID]
	if s == nil {
		if p.Part != 1 { // the first ones were removed
			return nil
		}
		s = &found{index: p.Index, first: r.Offset, id: p.ID, start: p.start}
		open[p.ID] = s
	}
	if s.parts++; s.parts != p.Part { // one between is missing
		delete(open, p.ID)
		return nil
	}
	s.data = append(s.data, r.Value...)
	if p.Part < p.Of {
		return nil
	}
	delete(open, p.ID)
	return s
}

// SaveSnapshot implements store.Log.
func (g *topicLog) SaveSnapshot(ctx context.Context, s store.Record) (err error) {
	defer driver.Wrap(&err, "save snapshot at %d", s.Index)
	if err := g.line.enterChange(ctx); err != nil {
		return err
	}
	if len(s.Data) > MaxSnapshot {
		return fmt.Errorf("%d bytes, at most %d: %w", len(s.Data), MaxSnapshot, store.ErrTooLarge)
	}
	ctx, cancel := g.line.bounded(ctx)
	defer cancel()
	began, err := g.started(ctx)
	if err != nil {
		return readError(ctx, err)
	}
	end, err := g.records.end(ctx, latest)
	if err != nil {
		return readError(ctx, err)
	}
	if last := uint64(end) + orPlain(began).Shift; s.Index == 0 || s.Index > last {
		return fmt.Errorf("the log has the indexes up to %d", last)
	}
	for range 3 {
		before, err := g.newestSnapshot(ctx)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return readError(ctx, err)
		}
		if before.index >= s.Index {
			return nil
		}
		if err := g.snapshots.produce(ctx, parts(s, orPlain(began))...); err != nil {
			return err
		}
		// Others may have removed the first parts, with what was before their own. So only what is read back counts.
		best, err := g.newestSnapshot(ctx)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return changeError(err)
		}
		if best.index >= s.Index {
			return g.removeBefore(ctx, best.first)
		}
	}
	return fmt.Errorf("%w: others save snapshots at the same time", store.ErrUnavailable)
}

// removeBefore removes snapshots that no longer count. That one stays is no harm.
func (g *topicLog) removeBefore(ctx context.Context, first int64) error {
	if err := g.snapshots.drop(ctx, first); err != nil {
		g.line.log.Debug("remove old snapshots", "topic", g.snapshots.name, "err", err)
	}
	return nil
}

// parts cuts a snapshot.
func parts(s store.Record, began start) []*kgo.Record {
	id, of := rand.Text(), max((len(s.Data)+partBytes-1)/partBytes, 1)
	out := make([]*kgo.Record, of)
	for i := range out {
		data := bytes.Clone(s.Data[i*partBytes : min((i+1)*partBytes, len(s.Data))])
		h, err := json.Marshal(part{ID: id, Index: s.Index, Part: i + 1, Of: of, Sum: sumOf(data), start: began})
		if err != nil {
			panic(err) // a struct of strings and numbers
		}
		out[i] = &kgo.Record{Value: data, Headers: []kgo.RecordHeader{{Key: partMark, Value: h}}}
	}
	return out
}

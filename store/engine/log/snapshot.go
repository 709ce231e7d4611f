package log

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
)

// pointer says which snapshot counts. Its index only grows.
type pointer struct {
	Index uint64   `json:"index"` // 0: none
	Name  string   `json:"name"`
	Parts int      `json:"parts"`        // rows
	At    []string `json:"at,omitempty"` // or values of the journal
	Bytes int      `json:"bytes"`
	Sum   uint32   `json:"sum"` // CRC-32C
}

// PointerKey is the key of the row that says which snapshot counts.
func (l *Log) PointerKey() string { return l.key("snap") }

// partPrefix is what the keys of a snapshot's parts begin with.
func (l *Log) partPrefix(p pointer) string { return l.key(fmt.Sprintf("s/%020d-%s/", p.Index, p.Name)) }

func (l *Log) partKeys(p pointer) (keys []string) {
	for i := range p.Parts {
		keys = append(keys, l.partPrefix(p)+fmt.Sprintf("%06d", i))
	}
	return keys
}

// pointer reads the pointer, and its version.
func (l *Log) pointer(ctx context.Context) (p pointer, v driver.Version, err error) {
	row, err := l.rows.Get(ctx, l.PointerKey())
	if err != nil || row.Version == "" {
		return p, "", err
	}
	p, err = l.decodePointer(row.Value)
	return p, row.Version, err
}

func (l *Log) decodePointer(b []byte) (p pointer, err error) {
	err = json.Unmarshal(b, &p)
	if err != nil || p.Index == 0 || p.Parts < 0 || p.Bytes < 0 || p.Bytes > l.most() {
		return p, fmt.Errorf("pointer to the snapshot: %w: %w", ErrDamaged, err)
	}
	return p, nil
}

// Snapshot implements store.Log.
func (l *Log) Snapshot(ctx context.Context) (store.Record, error) {
	r, err := l.snapshot(ctx)
	if err != nil {
		return store.Record{}, told(ctx, err, "read snapshot")
	}
	return r, nil
}

func (l *Log) snapshot(ctx context.Context) (store.Record, error) {
	for {
		row, err := l.rows.Get(ctx, l.PointerKey())
		if err == nil && row.Version == "" {
			err = store.ErrNotFound
		}
		if err != nil {
			return store.Record{}, err
		}
		r, err := l.Named(ctx, row.Value)
		if !errors.Is(err, store.ErrNotFound) {
			return r, err
		}
		now, err := l.rows.Get(ctx, row.Key)
		if err != nil {
			return store.Record{}, err
		}
		if now.Version == row.Version { // else it was replaced while we read it
			return store.Record{}, fmt.Errorf("the snapshot is not whole: %w", ErrDamaged)
		}
	}
}

// Named reads the snapshot that a value of the pointer's row names. store.ErrNotFound: it was freed.
func (l *Log) Named(ctx context.Context, value []byte) (store.Record, error) {
	p, err := l.decodePointer(value)
	if err != nil {
		return store.Record{}, err
	}
	data, err := l.parts(ctx, p)
	if err == nil && (len(data) != p.Bytes || sumOf(data) != p.Sum) {
		err = store.ErrNotFound
	}
	return store.Record{Index: p.Index, Data: data}, err
}

// parts reads what a pointer names. What is missing was freed.
func (l *Log) parts(ctx context.Context, p pointer) ([]byte, error) {
	data := make([]byte, 0, p.Bytes)
	if len(p.At) > 0 && l.values != nil {
		parts, err := l.values.Values(ctx, p.At)
		for _, part := range parts {
			data = append(data, part...)
		}
		return data, err
	}
	for keys := range slices.Chunk(l.partKeys(p), partsAtOnce) {
		rows, err := l.rows.Read(ctx, driver.Query{Keys: keys})
		if err != nil {
			return nil, err
		}
		for _, row := range rows.Keys {
			data = append(data, row.Value...)
		}
	}
	return data, nil
}

// partsAtOnce is how many parts one read brings, and partMost how many bytes a part has at most.
const (
	partsAtOnce = 8
	partMost    = 1 << 20
)

// SaveSnapshot implements store.Log. The parts are written first, then the pointer names them.
func (l *Log) SaveSnapshot(ctx context.Context, r store.Record) error {
	if err := l.save(ctx, r); err != nil {
		return told(ctx, err, "save snapshot at %d", r.Index)
	}
	return nil
}

func (l *Log) save(ctx context.Context, r store.Record) error {
	if len(r.Data) > l.most() {
		return fmt.Errorf("%d bytes, at most %d: %w", len(r.Data), l.most(), store.ErrTooLarge)
	}
	old, v, err := l.pointer(ctx)
	if err != nil {
		return err
	}
	base, end, err := l.ends(ctx)
	switch {
	case err != nil:
		return err
	case r.Index == 0:
		return errors.New("no record has index 0: give one that was appended")
	case r.Index <= old.Index:
		return nil
	case r.Index < base:
		return fmt.Errorf("the log begins after %d: use that index or a later one", base)
	case r.Index > end:
		return fmt.Errorf("the newest index of the log is %d: give one that was appended", end)
	case l.MaxRecord() < 1:
		return fmt.Errorf("the store takes no values: %w", store.ErrTooLarge)
	}
	var p pointer
	for now := old; now.Index < r.Index; {
		if p.Index == 0 || l.values != nil { // what was put before another pointer may have been freed by its author
			if p, err = l.layParts(ctx, r); err != nil {
				return err // nothing names it
			}
		}
		value, err := json.Marshal(p)
		if err != nil {
			return err
		}
		_, err = l.rows.Put(ctx, driver.Op{Key: l.PointerKey(), Name: l.rows.NewName(), If: v, Value: value})
		var d *engine.Doubt
		switch {
		case err == nil:
			l.sweep(ctx, p)
			return nil
		case errors.Is(err, store.ErrConflict), errors.As(err, &d) && d.Row != nil: // the next look decides
		default:
			return err
		}
		if now, v, err = l.pointer(ctx); err != nil {
			return fmt.Errorf("%w: look for the snapshot: %w", store.ErrUnknown, err)
		}
	}
	return nil
}

// most is how many bytes a snapshot may have.
func (l *Log) most() int {
	if l.values != nil {
		return MaxValues
	}
	return MaxSnapshot
}

// layParts writes the parts of a snapshot, and returns the pointer that names them.
func (l *Log) layParts(ctx context.Context, r store.Record) (p pointer, err error) {
	p = pointer{Index: r.Index, Name: l.rows.NewName(), Bytes: len(r.Data), Sum: sumOf(r.Data)}
	parts := slices.Collect(slices.Chunk(r.Data, min(l.MaxRecord(), partMost)))
	if l.values != nil {
		p.At, err = l.values.PutValues(ctx, parts)
		return p, err
	}
	p.Parts = len(parts)
	for i, key := range l.partKeys(p) {
		if err := l.rows.Once(ctx, key, parts[i]); err != nil {
			return p, err
		}
	}
	return p, nil
}

// sweep frees what will never be named: parts of other snapshots at or before the one that counts. Whoever is writing
// one will find that it is not newer. What it leaves the next one sweeps.
func (l *Log) sweep(ctx context.Context, p pointer) {
	if l.values != nil {
		if len(p.At) > 0 {
			_ = l.values.FreeValues(ctx, p.At[0])
		}
		return
	}
	keys, err := l.list(ctx, l.key("s/"), l.key(fmt.Sprintf("s/%020d.", p.Index)))
	if err != nil {
		return
	}
	own := func(key string) bool { return strings.HasPrefix(key, l.partPrefix(p)) }
	from := slices.IndexFunc(keys, own)
	others := [][]string{keys}
	if from >= 0 { // two ranges, with what counts between them
		others = [][]string{keys[:from], slices.DeleteFunc(keys[from:], own)}
	}
	for _, keys := range others {
		if len(keys) > 0 && l.rows.Free(ctx, keys) != nil {
			return
		}
	}
}

// Forget removes the snapshot of a log that was dropped, where nobody saves one any more.
func (l *Log) Forget(ctx context.Context) error {
	for {
		p, v, err := l.pointer(ctx)
		if err != nil || v == "" {
			return err
		}
		if _, err := l.rows.Put(ctx, driver.Op{Key: l.PointerKey(), Name: l.rows.NewName(), If: v,
			Delete: true}); err == nil {
			return l.rows.Free(ctx, l.partKeys(p))
		} else if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown) {
			return err
		}
	}
}

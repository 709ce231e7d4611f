package doclog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store"
)

func (l *log) snapshots() string { return l.o.Place + "/s/" }

// partKey is the key of a part of a snapshot.
func (l *log) partKey(p pointer, part int) string {
	return fmt.Sprintf("%s%0*d-%s/%06d", l.snapshots(), digits, p.Index, p.Name, part)
}

// Snapshot implements store.Log.
func (l *log) Snapshot(ctx context.Context) (store.Record, error) {
	r, err := l.snapshot(ctx)
	if err != nil {
		return store.Record{}, fmt.Errorf("read snapshot: %w", told(ctx, err))
	}
	return r, nil
}

func (l *log) snapshot(ctx context.Context) (store.Record, error) {
	m, _, err := l.readMeta(ctx)
	for err == nil && m.Snapshot.Index > 0 {
		p := m.Snapshot
		data, whole, err := l.readParts(ctx, p)
		if err != nil {
			return store.Record{}, err
		}
		if whole {
			return store.Record{Index: p.Index, Data: data}, nil
		}
		if m, _, err = l.readMeta(ctx); err != nil {
			return store.Record{}, err
		}
		if m.Snapshot == p { // else it was replaced while we read it
			return store.Record{}, fmt.Errorf("the snapshot at %d is not whole: %w", p.Index, ErrDamaged)
		}
	}
	if err == nil {
		err = store.ErrNotFound
	}
	return store.Record{}, err
}

// readParts reads a snapshot; whole says that it is as it was written.
func (l *log) readParts(ctx context.Context, p pointer) (data []byte, whole bool, err error) {
	parts, missing := make([][]byte, p.Parts), make([]bool, p.Parts)
	err = l.each(p.Parts, func(i int) error {
		d, err := l.docs.Get(ctx, l.partKey(p, i))
		if errors.Is(err, store.ErrNotFound) {
			missing[i] = true
			return nil
		}
		parts[i] = d.Value
		return err
	})
	if err != nil || slices.Contains(missing, true) {
		return nil, false, err
	}
	data = bytes.Join(parts, nil)
	return data, len(data) == p.Bytes && sumOf(data) == p.Sum, nil
}

// SaveSnapshot implements store.Log. The parts are written first; then the state names them, in one step. A snapshot of an index that the log has not reached
// is refused.
func (l *log) SaveSnapshot(ctx context.Context, s store.Record) error {
	if err := l.saveSnapshot(ctx, s); err != nil {
		return fmt.Errorf("save snapshot at %d: %w", s.Index, told(ctx, err))
	}
	return nil
}

func (l *log) saveSnapshot(ctx context.Context, s store.Record) error {
	if len(s.Data) > l.o.MaxSnapshot {
		return fmt.Errorf("%d bytes, at most %d: %w", len(s.Data), l.o.MaxSnapshot, store.ErrTooLarge)
	}
	m, _, err := l.readMeta(ctx)
	switch {
	case err != nil:
		return err
	case s.Index == 0:
		return errors.New("no record has index 0: give one that was appended")
	case s.Index <= m.Snapshot.Index:
		return nil
	case s.Index < m.Base:
		return fmt.Errorf("the log begins after %d: use that index or a later one", m.Base)
	}
	if s.Index > l.reachedSoFar() {
		if head, err := l.head(ctx); err != nil || s.Index > head {
			return errors.Join(err, fmt.Errorf("the newest index of the log is %d: give one that was appended", head))
		}
	}
	p := pointer{Index: s.Index, Name: l.newName(), Parts: (len(s.Data) + l.o.PartBytes - 1) / l.o.PartBytes, Bytes: len(s.Data), Sum: sumOf(s.Data)}
	if err := l.writeParts(ctx, p, s.Data); err != nil {
		return err
	}
	m, err = l.change(ctx, func(m meta) meta {
		if m.Snapshot.Index < p.Index {
			m.Snapshot = p
		}
		return m
	})
	if err != nil {
		return err
	}
	l.sweepParts(ctx, m.Snapshot)
	return nil
}

// writeParts writes what nothing names yet: whatever becomes of it, nothing was changed.
func (l *log) writeParts(ctx context.Context, p pointer, data []byte) error {
	return l.each(p.Parts, func(i int) error {
		part := data[i*l.o.PartBytes : min((i+1)*l.o.PartBytes, len(data))]
		var err error
		for range resends + 1 {
			_, err = l.docs.Put(ctx, store.Doc{Key: l.partKey(p, i), Value: part})
			if err == nil || errors.Is(err, store.ErrConflict) { // the latter after a lost answer: the name is ours alone
				return nil
			}
			if !errors.Is(err, store.ErrUnknown) || ctx.Err() != nil {
				break
			}
		}
		if errors.Is(err, store.ErrUnknown) {
			return errors.Join(fmt.Errorf("%w: part %d of %d: %v", store.ErrUnavailable, i+1, p.Parts, err), context.Cause(ctx)) //nolint:errorlint // that of the part is unknown, that of the call is not
		}
		return err
	})
}

// sweepParts removes what the state will never name: other snapshots at or before the one that counts. Whoever is writing one will find that it is not newer.
func (l *log) sweepParts(ctx context.Context, current pointer) {
	docs, err := l.docs.List(ctx, l.snapshots())
	if err != nil {
		l.o.Logger.Debug("list the parts of old snapshots", "err", err)
		return
	}
	for _, d := range docs {
		index, name, ok := cutSnapshot(strings.TrimPrefix(d.Key, l.snapshots()))
		if ok && index <= current.Index && name != current.Name {
			l.remove(ctx, d.Key, d.Version)
		}
	}
}

// cutSnapshot reads the index and the name of a snapshot from the rest of a part's key.
func cutSnapshot(rest string) (index uint64, name string, ok bool) {
	rest, _, _ = strings.Cut(rest, "/")
	text, name, _ := strings.Cut(rest, "-")
	index, err := strconv.ParseUint(text, 10, 64)
	return index, name, err == nil && index > 0 && name != ""
}

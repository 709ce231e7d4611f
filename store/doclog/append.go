package doclog

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
)

// Append implements store.Log.
func (l *log) Append(ctx context.Context, data []byte) (uint64, error) {
	index, err := l.append(ctx, data)
	if err != nil {
		return 0, fmt.Errorf("append: %w", told(ctx, err))
	}
	return index, nil
}

func (l *log) append(ctx context.Context, data []byte) (uint64, error) {
	if len(data) > l.o.MaxRecord {
		return 0, fmt.Errorf("%d bytes, at most %d: %w", len(data), l.o.MaxRecord, store.ErrTooLarge)
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	// What others trimmed since our last call must be known, or the record would be put below it.
	if _, _, err := l.readMeta(ctx); err != nil {
		return 0, err
	}
	return l.climb(ctx, entry{kind: kindRecord, name: l.newName(), data: data})
}

// jump is after how many taken indexes in a row an appender looks where the head is, instead of trying the next one.
const jump = 2

// climb puts the entry at the first index that nobody has taken.
func (l *log) climb(ctx context.Context, e entry) (uint64, error) {
	for taken := 0; ; taken++ {
		index := l.reachedSoFar() + 1
		if index == 1 || taken > 0 && taken%jump == 0 {
			at, err := l.probe(ctx, index-1)
			if err != nil {
				return 0, err
			}
			l.reached(at)
			index = at + 1
		}
		s, err := l.place(ctx, index, e)
		if err != nil {
			return 0, err
		}
		if s.ours {
			return index, l.confirm(ctx, index, s.version)
		}
		if err := l.pass(ctx, index); err != nil {
			return 0, err
		}
	}
}

// stand describes the entry at an index after an attempt to create it.
type stand struct {
	ours    bool
	version store.Version // of ours, "" where it is not known
}

// place creates the entry at an index, unless one exists there. An attempt with an unknown outcome is repeated with the same name: at most one of
// them can create the document, and the name shows whose it is.
func (l *log) place(ctx context.Context, index uint64, e entry) (stand, error) {
	doc := store.Doc{Key: l.entryKey(index), Value: e.encode(index)}
	var lost error
	for range resends + 1 {
		version, err := l.docs.Put(ctx, doc)
		switch {
		case err == nil:
			return stand{true, version}, nil
		case errors.Is(err, store.ErrConflict) && lost == nil:
			return stand{}, nil
		case errors.Is(err, store.ErrConflict):
			return l.whose(ctx, index, e.name)
		case errors.Is(err, store.ErrUnknown):
			lost = err
		case lost != nil:
			return stand{}, unknown(err)
		default:
			return stand{}, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return stand{}, lost
}

// whose reports who has taken an index, after an attempt of ours with an unknown outcome. If another's entry is there, ours never was and never will be, provided
// the index is not trimmed: an entry there was never removed.
func (l *log) whose(ctx context.Context, index uint64, name string) (stand, error) {
	d, err := l.docs.Get(ctx, l.entryKey(index))
	if errors.Is(err, store.ErrNotFound) {
		return stand{}, unknown(belowError(index))
	}
	if err != nil {
		return stand{}, unknown(err)
	}
	e, err := decodeEntry(index, d.Value)
	if err != nil {
		return stand{}, unknown(err)
	}
	if e.name == name {
		return stand{true, d.Version}, nil
	}
	m, _, err := l.readMeta(ctx)
	if err != nil {
		return stand{}, unknown(err)
	}
	if m.Base >= index {
		return stand{}, unknown(belowError(index))
	}
	return stand{}, nil
}

type belowError uint64

func (e belowError) Error() string {
	return fmt.Sprintf("index %d was trimmed meanwhile", uint64(e))
}

// confirm verifies that the record we created is where readers look. If the index is trimmed, either it was trimmed before we created the document,
// which nobody will ever read then, or the record was read, and trimmed before our check: the two cases cannot be distinguished.
func (l *log) confirm(ctx context.Context, index uint64, version store.Version) error {
	m, _, err := l.readMeta(ctx)
	if err != nil {
		return unknown(err)
	}
	if m.Base < index {
		l.reached(index)
		return nil
	}
	l.remove(ctx, l.entryKey(index), version)
	return unknown(belowError(index))
}

// remove removes a document that nobody reads. What stays is removed by a later Trim.
func (l *log) remove(ctx context.Context, key string, version store.Version) {
	if err := l.docs.Delete(ctx, key, version); err != nil && !errors.Is(err, store.ErrNotFound) {
		l.o.Logger.Debug("remove an unused document of the log", "key", key, "err", err)
	}
}

// pass notes that an index is taken. The first index may be a seed, which must be finished before anything is appended.
func (l *log) pass(ctx context.Context, index uint64) error {
	if index > 1 {
		l.reached(index)
		return nil
	}
	d, err := l.docs.Get(ctx, l.entryKey(index))
	if errors.Is(err, store.ErrNotFound) { // trimmed meanwhile
		_, _, err = l.readMeta(ctx)
		return err
	}
	if err != nil {
		return err
	}
	e, err := decodeEntry(index, d.Value)
	if err != nil {
		return err
	}
	if e.kind == kindSeed {
		_, err = l.finishSeed(ctx, e)
		return err
	}
	l.reached(index)
	return nil
}

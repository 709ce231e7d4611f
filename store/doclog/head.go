package doclog

import (
	"context"
	"errors"

	"github.com/rota-run/rota/store"
)

// get reads the entry at an index; found is false if there is none. A seed is not an entry.
func (l *log) get(ctx context.Context, index uint64) (e entry, found bool, err error) {
	d, err := l.docs.Get(ctx, l.entryKey(index))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return entry{}, false, err
	}
	return entryOf(index, d)
}

// entryOf is the entry in the document of an index, which has no version if there is none.
func entryOf(index uint64, d store.Doc) (e entry, found bool, err error) {
	if d.Version == "" {
		return entry{}, false, nil
	}
	e, err = decodeEntry(index, d.Value)
	return e, err == nil && e.kind == kindRecord, err
}

// probe finds an index at which something stood, or from, behind which nothing stood when it looked. Whether that is the head depends on what is trimmed,
// which must be read afterwards. Records are dense, so it looks further and further ahead, then closes in.
func (l *log) probe(ctx context.Context, from uint64) (uint64, error) {
	low, step := from, uint64(1)
	for {
		_, found, err := l.get(ctx, low+step)
		if err != nil {
			return 0, err
		}
		if !found {
			break
		}
		low += step
		step *= 2
	}
	for high := low + step; high-low > 1; {
		middle := low + (high-low)/2
		_, found, err := l.get(ctx, middle)
		switch {
		case err != nil:
			return 0, err
		case found:
			low = middle
		default:
			high = middle
		}
	}
	return low, nil
}

// start is an index that the log has reached, from which to look on.
func (l *log) start(ctx context.Context) (uint64, error) {
	if known := l.reachedSoFar(); known > 0 {
		return known, nil
	}
	_, _, err := l.readMeta(ctx) // notes what is trimmed
	return l.reachedSoFar(), err
}

// head is the newest index at some moment of the call.
func (l *log) head(ctx context.Context) (uint64, error) {
	from, err := l.start(ctx)
	for err == nil {
		var head uint64
		if head, err = l.probe(ctx, from); err != nil {
			break
		}
		var m meta
		if m, _, err = l.readMeta(ctx); err != nil {
			break
		}
		if m.Base <= head {
			l.reached(head)
			return head, nil
		}
		from = m.Base // nothing was there because it was trimmed
	}
	return 0, err
}

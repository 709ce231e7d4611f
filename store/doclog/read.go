package doclog

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rota-run/rota/store"
)

// pageBytes is how much one Read brings into memory before it stops; what was asked for at once comes on top.
const pageBytes = 8 << 20

// Read implements store.Log.
func (l *log) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, _, err := l.ReadWith(ctx, after, limit, nil)
	return page, err
}

// ReadWith implements store.LogWith. A look at a log without news is one request where the documents are a store.GetMany.
func (l *log) ReadWith(ctx context.Context, after uint64, limit int, keys []string) (store.Page, []store.Doc, error) {
	if limit < 1 {
		return store.Page{}, nil, fmt.Errorf("read log: limit is %d: give at least 1", limit)
	}
	if err := l.refuseAll(keys); err != nil {
		return store.Page{}, nil, fmt.Errorf("read log with documents: %w", err)
	}
	g := &glance{keys: keys}
	page, err := l.read(ctx, after, limit, g)
	if g.keys != nil && ctx.Err() == nil { // they were not in a request for records
		g.take(store.GetAll(ctx, l.docs, g.keys))
	}
	if err == nil {
		err = g.err
	}
	if err != nil {
		return store.Page{}, g.docs, fmt.Errorf("read log after %d: %w", after, told(ctx, err))
	}
	return page, g.docs, nil
}

// glance is what comes with records in one request.
type glance struct {
	keys []string // of documents that are still to be read
	docs []store.Doc
	err  error
	meta *meta // read after the records of the last request, in it; nil where it was not
}

func (g *glance) take(docs []store.Doc, err error) { g.keys, g.docs, g.err = nil, docs, err }

func (l *log) read(ctx context.Context, after uint64, limit int, g *glance) (store.Page, error) {
	for {
		from, err := l.start(ctx)
		if err != nil {
			return store.Page{}, err
		}
		records, ended, err := l.run(ctx, after, from, limit, g)
		if err != nil {
			return store.Page{}, err
		}
		last := after + uint64(len(records))
		head, m := last, g.meta
		switch {
		case len(records) == 0 && after > from, last < from:
			m = nil
			head, err = l.probe(ctx, from)
		case !ended:
			m = nil
			head, err = l.probe(ctx, last)
		}
		if err != nil {
			return store.Page{}, err
		}
		base, err := l.baseAfter(ctx, m) // last, so that what was missing, and is not trimmed now, was not there
		switch {
		case err != nil:
			return store.Page{}, err
		case after < base:
			return store.Page{}, fmt.Errorf("trimmed up to %d: %w", base, store.ErrTruncated)
		case head < base:
			continue // nothing was there because it was trimmed
		case ended && last < from && after <= from:
			return store.Page{}, fmt.Errorf("record %d is missing: %w", last+1, ErrDamaged)
		}
		l.reached(head)
		return store.Page{Records: records, Head: head}, nil
	}
}

// baseAfter is the base as it was read after all that was found missing: in the same request, or now.
func (l *log) baseAfter(ctx context.Context, m *meta) (uint64, error) {
	if m != nil {
		return m.Base, nil
	}
	now, _, err := l.readMeta(ctx)
	return now.Base, err
}

// run reads the records behind after, without a gap; ended says that it stopped because none stood at the next index. Up to known many are asked for at
// once; behind it at first one, since mostly there is none, or two where that is the same request.
func (l *log) run(ctx context.Context, after, known uint64, limit int, g *glance) (records []store.Record, ended bool, err error) {
	size, width := 0, 1
	if l.many != nil {
		width = min(2, l.o.Ahead)
	}
	for len(records) < limit && size < pageBytes {
		last := after + uint64(len(records))
		if last < known {
			width = int(min(known-last, uint64(l.o.Ahead))) //nolint:gosec // at most Ahead
		}
		got, err := l.window(ctx, last+1, min(width, limit-len(records)), g)
		if err != nil {
			return nil, false, err
		}
		for _, r := range got {
			if r.Index == 0 {
				return records, true, nil
			}
			records = append(records, r)
			size += len(r.Data)
		}
		width = min(2*width, l.o.Ahead)
	}
	return records, false, nil
}

// window reads n indexes at once. A record of index 0 marks a missing one.
func (l *log) window(ctx context.Context, first uint64, n int, g *glance) ([]store.Record, error) {
	if l.many != nil {
		return l.windowInOne(ctx, first, n, g)
	}
	out := make([]store.Record, n)
	err := l.each(n, func(i int) error {
		index := first + uint64(i) //nolint:gosec // i is not negative
		e, found, err := l.get(ctx, index)
		if found {
			out[i] = store.Record{Index: index, Data: slices.Clip(e.data)}
		}
		return err
	})
	return out, err
}

// windowInOne is window in one request, with the state of the log behind the records: what was missing was missing before the state was read. What else
// is to be read comes last.
func (l *log) windowInOne(ctx context.Context, first uint64, n int, g *glance) ([]store.Record, error) {
	keys := make([]string, 0, n+1+len(g.keys))
	for i := range n {
		keys = append(keys, l.entryKey(first+uint64(i))) //nolint:gosec // i is not negative
	}
	keys = append(append(keys, l.metaKey()), g.keys...)
	docs, err := l.many.Gets(ctx, keys)
	if err != nil {
		return nil, err
	}
	if g.keys != nil {
		g.take(docs[n+1:], nil)
	}
	out := make([]store.Record, n)
	for i, d := range docs[:n] {
		e, found, err := entryOf(first+uint64(i), d) //nolint:gosec // i is not negative
		if err != nil {
			return nil, err
		}
		if found {
			out[i] = store.Record{Index: first + uint64(i), Data: slices.Clip(e.data)} //nolint:gosec // i is not negative
		}
	}
	m, err := l.metaOf(docs[n])
	g.meta = &m
	return out, err
}

// each calls do with 0 to n-1, up to Options.Ahead at once, and returns the error of the lowest one. After an error no more calls begin.
func (l *log) each(n int, do func(i int) error) error {
	if n == 1 || l.o.Ahead == 1 {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	next, errs := 0, make([]error, n)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	fail := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		next, errs[i] = n, err
	}
	for range min(n, l.o.Ahead) {
		wg.Go(func() {
			for i := take(); i < n; i = take() {
				if err := do(i); err != nil {
					fail(i, err)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

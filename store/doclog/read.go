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
	if limit < 1 {
		return store.Page{}, fmt.Errorf("read log: limit is %d: give at least 1", limit)
	}
	page, err := l.read(ctx, after, limit)
	if err != nil {
		return store.Page{}, fmt.Errorf("read log after %d: %w", after, told(ctx, err))
	}
	return page, nil
}

func (l *log) read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	for {
		from, err := l.start(ctx)
		if err != nil {
			return store.Page{}, err
		}
		records, ended, err := l.run(ctx, after, from, limit)
		if err != nil {
			return store.Page{}, err
		}
		last := after + uint64(len(records))
		head := last
		switch {
		case len(records) == 0 && after > from, last < from:
			head, err = l.probe(ctx, from)
		case !ended:
			head, err = l.probe(ctx, last)
		}
		if err != nil {
			return store.Page{}, err
		}
		m, _, err := l.readMeta(ctx) // last, so that what was missing, and is not trimmed now, was not there
		switch {
		case err != nil:
			return store.Page{}, err
		case after < m.Base:
			return store.Page{}, fmt.Errorf("trimmed up to %d: %w", m.Base, store.ErrTruncated)
		case head < m.Base:
			continue // nothing stood there because it was trimmed
		case ended && last < from && after <= from:
			return store.Page{}, fmt.Errorf("record %d is missing: %w", last+1, ErrDamaged)
		}
		l.reached(head)
		return store.Page{Records: records, Head: head}, nil
	}
}

// run reads the records behind after, without a gap; ended says that it stopped because none stood at the next index. Up to known many are asked for at
// once; behind it at first one, since mostly there is none.
func (l *log) run(ctx context.Context, after, known uint64, limit int) (records []store.Record, ended bool, err error) {
	size, width := 0, 1
	for len(records) < limit && size < pageBytes {
		last := after + uint64(len(records))
		if last < known {
			width = int(min(known-last, uint64(l.o.Ahead))) //nolint:gosec // at most Ahead
		}
		got, err := l.window(ctx, last+1, min(width, limit-len(records)))
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

// window reads n indexes at once. A record of index 0 stands for one that is not there.
func (l *log) window(ctx context.Context, first uint64, n int) ([]store.Record, error) {
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

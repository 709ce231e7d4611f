package log

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// pagesAtOnce is how many pages one read asks for.
const pagesAtOnce = 64

// Read implements store.Log. A look without news is one row.
func (l *Log) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if limit < 1 {
		return store.Page{}, fmt.Errorf("read log: limit is %d: give at least 1", limit)
	}
	page, err := l.read(ctx, after, limit)
	if err != nil {
		return store.Page{}, told(ctx, err, "read log after %d", after)
	}
	return page, nil
}

func (l *Log) read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	_, known, _ := l.remembered()
	for {
		ends := known.between(after, known.cut, min(pagesAtOnce, limit/int(known.size)+2)) //nolint:gosec // a size is small
		var q driver.Query
		for _, end := range ends {
			q.Keys = append(q.Keys, l.pageKey(end))
		}
		q.Keys = append(q.Keys, l.headKey()) // last, so that it says why a page is missing
		rows, err := l.rows.Read(ctx, q)
		if err != nil {
			return store.Page{}, err
		}
		s, err := l.learn(rows.Keys[len(ends)])
		switch {
		case err != nil:
			return store.Page{}, err
		case s.end() < known.end():
			return store.Page{}, fmt.Errorf("the head of the log was at %d, and is at %d: %w", known.end(), s.end(), ErrDamaged)
		case after < s.base:
			return store.Page{}, fmt.Errorf("trimmed up to %d: %w", s.base, store.ErrTruncated)
		}
		all, err := inPages(rows.Keys[:len(ends)], after, limit)
		if err != nil {
			return store.Page{}, err
		}
		if last := after + uint64(len(all)); last >= s.cut {
			all = append(all, page{s.cut, s.tail}.behind(last, limit-len(all))...)
		} else if len(all) == 0 {
			known = s // it has cut off pages that we did not know of
			continue
		}
		records, err := l.records(ctx, all)
		return store.Page{Records: records, Head: s.end()}, err
	}
}

// inPages are the records behind an index, in pages that follow each other.
func inPages(rows []driver.Row, after uint64, limit int) (all []found, err error) {
	for _, row := range rows {
		if row.Version == "" {
			return nil, fmt.Errorf("%s is missing: %w", row.Key, ErrDamaged)
		}
		p, err := decodePage(row.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, p.behind(after, limit-len(all))...)
		if last := after + uint64(len(all)); len(all) < limit && last != p.after+uint64(len(p.entries)) {
			return nil, fmt.Errorf("%s does not follow record %d: %w", row.Key, last, ErrDamaged)
		}
	}
	return all, nil
}

package log

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
)

// How many pages one read asks for: by their keys, or of one record by a range.
const (
	pagesAtOnce = 64
	rowsAtOnce  = 512
)

// Read implements store.Log. A look without news is one row.
func (l *Log) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, _, err := l.readWith(ctx, after, limit, nil)
	return page, err
}

// ReadWith implements store.LogWith, in one request where the log has no news.
func (l *Log) ReadWith(ctx context.Context, after uint64, limit int, keys []string) (store.Page, []store.Doc, error) {
	rowKeys, err := engine.DocKeys(keys)
	if err != nil {
		return store.Page{}, nil, fmt.Errorf("read log with documents: %w", err)
	}
	page, rows, err := l.readWith(ctx, after, limit, rowKeys)
	docs, damaged := engine.DocsOf(rows)
	if damaged != nil {
		return store.Page{}, nil, damaged
	}
	return page, docs, err
}

// readWith reads the log and other rows, which are returned with an error of the log if they were read.
func (l *Log) readWith(ctx context.Context, after uint64, limit int,
	others []string) (store.Page, []driver.Row, error) {
	if limit < 1 {
		return store.Page{}, nil, fmt.Errorf("read log: limit is %d: give at least 1", limit)
	}
	read := l.read
	if l.order != nil {
		read = l.readJournal
	}
	page, rows, err := read(ctx, after, limit, others)
	if err != nil {
		return store.Page{}, rows, told(ctx, err, "read log after %d", after)
	}
	return page, rows, nil
}

func (l *Log) read(ctx context.Context, after uint64, limit int, others []string) (store.Page, []driver.Row, error) {
	_, known, _ := l.remembered()
	ranged := known.size == withPage && l.rows.Limits().Range == driver.Fresh
	for ; ; ranged = false {
		q := l.query(known, after, limit, ranged)
		n := len(q.Keys) // the last of them is the head
		q.Keys = append(q.Keys, others...)
		rows, err := l.rows.Read(ctx, q)
		if err != nil {
			return store.Page{}, nil, err
		}
		beside := rows.Keys[n:]
		pages, head := append(rows.Range, rows.Keys[:n-1]...), rows.Keys[n-1]
		s, err := l.learn(head)
		switch {
		case err != nil:
			return store.Page{}, beside, err
		case s.end() < known.end():
			err = fmt.Errorf("the head of the log was at %d, and is at %d: %w", known.end(), s.end(), ErrDamaged)
			return store.Page{}, beside, err
		case after < s.base:
			return store.Page{}, beside, fmt.Errorf("trimmed up to %d: %w", s.base, store.ErrTruncated)
		}
		if ranged {
			pages = l.following(pages, after)
		}
		all, err := inPages(pages, after, limit)
		if last := after + uint64(len(all)); err == nil && last >= known.cut && last < s.cut && len(all) < limit {
			var more []found
			more, err = l.named(ctx, s, last, limit-len(all))
			all = append(all, more...)
		}
		if err != nil {
			return store.Page{}, beside, err
		}
		if last := after + uint64(len(all)); last >= s.cut {
			all = append(all, page{s.cut, s.tail}.behind(last, limit-len(all))...)
		} else if len(all) == 0 {
			known = s // it has cut off pages that we did not know of, or the range has left them out
			continue
		}
		records, err := l.records(ctx, all)
		return store.Page{Records: records, Head: s.end()}, beside, err
	}
}

// named are the records in pages that a head names which has just been read. A page is never changed once it is there,
// so it may be read from anywhere; where one is missing, all is read again, with the head behind it.
func (l *Log) named(ctx context.Context, s state, after uint64, limit int) ([]found, error) {
	if l.rows.Limits().Range != driver.Names {
		return nil, nil
	}
	q := l.query(s, after, limit, false)
	q.Keys, q.Stale = q.Keys[:len(q.Keys)-1], true
	rows, err := l.rows.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Keys {
		if row.Version == "" {
			return nil, nil
		}
	}
	return inPages(rows.Keys, after, limit)
}

// WatchLog implements store.LogWatcher. All changes of a log in rows are swaps of its head.
func (l *Log) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	watch := func(ctx context.Context, hint func()) error { return l.rows.Watch(ctx, l.headKey(), hint) }
	if l.order != nil {
		watch = l.order.Watch
	}
	hints, err := engine.Hints(ctx, watch)
	if err != nil {
		return nil, told(ctx, err, "watch log")
	}
	return hints, nil
}

// query asks for pages, and then for the head, so that it says why a page is missing.
func (l *Log) query(known state, after uint64, limit int, ranged bool) (q driver.Query) {
	q.Keys = []string{l.headKey()}
	if ranged {
		q.From, q.To, q.Limit = l.pageKey(after+1), l.key("p0"), min(limit, rowsAtOnce)
		return q
	}
	most := min(pagesAtOnce, limit/int(known.size)+2) //nolint:gosec // a size is small
	if known.size == withPage {
		most = min(rowsAtOnce, limit)
	}
	var pages []string
	for _, end := range known.between(after, known.cut, most) {
		pages = append(pages, l.pageKey(end))
	}
	q.Keys = append(pages, q.Keys...)
	return q
}

// following are the first rows of a range, as long as none is left out: others are read later than it.
func (l *Log) following(rows []driver.Row, after uint64) []driver.Row {
	for i, row := range rows {
		if row.Key != l.pageKey(after+1+uint64(i)) { //nolint:gosec // i is not negative
			return rows[:i]
		}
	}
	return rows
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

package log

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/internal/crowd"
)

// A new log has pages of 8 records, which wait in the head ("tail"); or of one, which are written with the head, if the
// store can write so many rows in one swap ("with").
const (
	tailPage, tailBatch = 8, 16
	withPage, withBatch = 1, 64
)

// How many bytes a snapshot may have, which is split into parts; MaxValues where a journal keeps them as values.
const (
	MaxSnapshot = 64 << 20
	MaxValues   = 256 << 20
)

// Log is one handle on a log. It is safe for concurrent use.
type Log struct {
	rows   *engine.Rows
	name   string
	order  driver.Journal                                   // of the store; nil: the log is in rows
	values driver.JournalValues                             // of order; nil: snapshots are in rows
	size   uint64                                           // of pages, where the log is new
	inline int                                              // the largest record that is not a blob
	reach  uint64                                           // how far behind its hint a blob may be used
	batch  int                                              // how many records one append may have
	pause  func(ctx context.Context, d time.Duration) error // of a loser

	mu    sync.Mutex
	last  driver.Row // the newest head that was seen, by its end
	state state      // of last
	freed uint64     // pages up to it were freed by this handle
	// Records of Append that wait for their turn, and whether somebody serves them.
	waiting []*waiter
	serving bool
	wake    chan struct{} // holds one: another record waits
	crowd   crowd.Crowd   // of who serves
}

var (
	_ store.Log        = (*Log)(nil)
	_ store.LogWith    = (*Log)(nil)
	_ store.LogWatcher = (*Log)(nil)
	_ store.Seeder     = (*Log)(nil)
)

// Main is the name of the log of a store. It is in the journal of the store if that has one.
const Main = "main"

// Open opens a log by its name, which is never given to another one, even after that was removed. It sends no request.
func Open(r *engine.Rows, name string) *Log {
	if store, ok := r.Driver.(driver.Journals); ok && name == Main {
		return On(r, name, store.Journal())
	}
	return On(r, name, nil)
}

// On is Open of a log in a journal, or in rows if that is nil.
func On(r *engine.Rows, name string, order driver.Journal) *Log {
	l := &Log{rows: r, name: name, size: tailPage, batch: tailBatch, inline: maxInline, reach: blobReach, pause: wait}
	l.wake = make(chan struct{}, 1)
	most := r.Limits()
	if order != nil {
		l.order, l.batch = order, max(1, most.Batch)
		l.values, _ = order.(driver.JournalValues)
	} else if most.With > 0 {
		l.size, l.batch = withPage, min(withBatch, most.With)
		l.inline = min(most.Value, most.Swap/l.batch/2-most.Each) // half is for names, keys and the head
	}
	l.state.size = l.size
	return l
}

func (l *Log) key(rest string) string { return "l/" + l.name + "/" + rest }

func (l *Log) headKey() string { return l.key("head") }

func (l *Log) pageKey(end uint64) string { return l.key(fmt.Sprintf("p/%020d", end)) }

// learn decodes a head and remembers it, unless a newer one is remembered: handles read at once. A log that was never
// used has no row.
func (l *Log) learn(row driver.Row) (state, error) {
	if row.Version == "" {
		return state{size: l.size}, nil
	}
	s, err := decodeState(row.Value)
	if err != nil {
		return s, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.end() >= l.state.end() && s.base >= l.state.base {
		l.last, l.state = row, s
	}
	return s, nil
}

// remembered is the newest head that was seen; without a version if there was none.
func (l *Log) remembered() (driver.Row, state, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.state, l.freed
}

// head reads the head, and creates it where there is none.
func (l *Log) head(ctx context.Context) (driver.Row, state, error) {
	for tries := 0; ; tries++ {
		row, err := l.rows.Get(ctx, l.headKey())
		if err != nil {
			return row, state{}, err
		}
		if row.Version != "" {
			s, err := l.learn(row)
			return row, s, err
		}
		if last, _, _ := l.remembered(); last.Version != "" {
			return row, state{}, fmt.Errorf("the head of the log is gone: %w", ErrDamaged)
		}
		if tries > 0 {
			return row, state{}, fmt.Errorf("%w: the head of the log cannot be created", store.ErrUnavailable)
		}
		op := driver.Op{Key: l.headKey(), Name: l.rows.NewName(), Value: state{size: l.size}.encode()}
		// The head is never removed, so whatever becomes of this: one create is done, once. The next look shows it.
		_, err = l.rows.Put(ctx, op)
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown) {
			return row, state{}, err
		}
	}
}

// change changes the head by a function that does no more when it is done twice, and returns the state that came of it.
func (l *Log) change(ctx context.Context, fn func(state) state) (state, error) {
	for {
		row, s, err := l.head(ctx)
		if err != nil {
			return s, err
		}
		next := fn(s)
		if next.base == s.base && next.seed == s.seed {
			return s, nil
		}
		err = l.swap(ctx, row, next, l.rows.NewName())
		var d *engine.Doubt
		switch {
		case err == nil:
			return next, nil
		case errors.Is(err, store.ErrConflict), errors.As(err, &d) && d.Row != nil: // it comes no more: the next look decides
		default:
			return s, err
		}
	}
}

// swap replaces the head, and writes pages with it.
func (l *Log) swap(ctx context.Context, row driver.Row, next state, name string, with ...driver.Op) error {
	_, _, freed := l.remembered()
	next.freed = max(next.freed, min(freed, next.base))
	op := driver.Op{Key: row.Key, Name: name, If: row.Version, Value: next.encode()}
	v, err := l.rows.Put(ctx, op, with...)
	if err == nil {
		_, err = l.learn(driver.Row{Key: op.Key, Name: op.Name, Value: op.Value, Version: v})
	}
	return err
}

// told puts what was asked for in front of an error, and makes it tell why ctx has ended.
func told(ctx context.Context, err error, format string, args ...any) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(err, cause)
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// ends are the bounds of the log: all up to base is trimmed, as far as is known, and end is the newest index.
func (l *Log) ends(ctx context.Context) (base, end uint64, err error) {
	if l.order == nil {
		_, s, err := l.head(ctx)
		return s.base, s.end(), err
	}
	_, first, end, err := l.order.Read(ctx, math.MaxUint64, 0)
	return max(first, 1) - 1, end, err
}

// readJournal reads the log, and other rows, which are returned with an error of the log.
func (l *Log) readJournal(
	ctx context.Context, after uint64, limit int, others []string,
) (store.Page, []driver.Row, error) {
	var beside []driver.Row
	if len(others) > 0 {
		rows, err := l.rows.Read(ctx, driver.Query{Keys: others})
		if err != nil {
			return store.Page{}, nil, err
		}
		beside = rows.Keys
	}
	records, first, head, err := l.order.Read(ctx, after, limit)
	switch {
	case err != nil:
		return store.Page{}, beside, err
	case first > 0 && after < first-1:
		return store.Page{}, beside, fmt.Errorf("trimmed up to %d: %w", first-1, store.ErrTruncated)
	}
	return store.Page{Records: records, Head: head}, beside, nil
}

// trimJournal frees the records up to an index, which the snapshot covers that counts.
func (l *Log) trimJournal(ctx context.Context, upTo uint64) error {
	if upTo == 0 {
		return nil
	}
	return l.order.Free(ctx, upTo)
}

// beginJournal begins an unused journal. A snapshot says that the log is in use, also where it has no records.
func (l *Log) beginJournal(ctx context.Context, index uint64) error {
	_, saved, err := l.pointer(ctx)
	if err == nil && saved != "" {
		err = fmt.Errorf("the log has a snapshot: %w", store.ErrConflict)
	}
	if err != nil {
		return err
	}
	return l.order.Start(ctx, index)
}

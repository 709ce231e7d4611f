package log

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/store"
)

// waiter is a record that waits for its turn, and then for what became of it.
type waiter struct {
	data   []byte
	answer chan result // holds one
	turn   *turn       // nil: it has not come
}

// turn is that of the records that share an append. It ends early when nobody waits any more.
type turn struct {
	ctx    context.Context //nolint:containedctx // it lasts from take to serveBatch
	cancel context.CancelCauseFunc
	batch  []*waiter
	left   int // who waits still
}

type result struct {
	index uint64
	err   error
}

// Append implements store.Log. Records of calls that run at once share a swap: those that come while one is under way
// are in the next one. A journal that takes them one by one gets them as they come.
func (l *Log) Append(ctx context.Context, data []byte) (uint64, error) {
	if err := l.refuse(data); err != nil {
		return 0, err
	}
	return l.Join(ctx, data)
}

// Join is Append of a record of any size that the journal takes.
func (l *Log) Join(ctx context.Context, data []byte) (uint64, error) {
	if ctx.Err() != nil {
		return 0, told(ctx, context.Cause(ctx), "append")
	}
	if l.order != nil && l.batch == 1 {
		indexes, err := l.appendAll(ctx, [][]byte{data})
		if err != nil {
			return 0, err
		}
		return indexes[0], nil
	}
	if l.lone() {
		return l.appendLone(ctx, data)
	}
	w := l.queue(data)
	select {
	case r := <-w.answer:
		return r.index, r.err
	case <-ctx.Done():
		return 0, l.leave(ctx, w)
	}
}

// queue lets a record wait for its turn, and a goroutine serve it.
func (l *Log) queue(data []byte) *waiter {
	w := &waiter{data: slices.Clone(data), answer: make(chan result, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	if !l.serving {
		l.serving = true
		go l.serve()
	}
	all := l.crowd.Enough(len(l.waiting))
	l.mu.Unlock()
	if all {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return w
}

// lone makes the caller the one who serves, if the log is a journal and nobody else has appended lately: it need not
// wait for another goroutine, twice.
func (l *Log) lone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ours := l.order != nil && !l.serving && l.crowd.Alone()
	l.serving = l.serving || ours
	return ours
}

// appendLone appends one record. Those who came meanwhile are served then.
func (l *Log) appendLone(ctx context.Context, data []byte) (uint64, error) {
	began := time.Now()
	indexes, err := l.appendAll(ctx, [][]byte{data})
	l.crowd.Answered(time.Since(began), 1+l.pending())
	if !l.idle() {
		go l.serve()
	}
	if err != nil {
		return 0, err
	}
	return indexes[0], nil
}

// leave takes a record back, unless its turn has come, and says so.
func (l *Log) leave(ctx context.Context, w *waiter) error {
	err := context.Cause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := w.turn; t != nil {
		if t.left--; t.left == 0 {
			t.cancel(err)
		}
		return told(ctx, fmt.Errorf("%w: it was under way", store.ErrUnknown), "append")
	}
	i := slices.Index(l.waiting, w)
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return told(ctx, err, "append")
}

// pending is how many records wait.
func (l *Log) pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// idle reports whether nothing waits; then the next caller serves.
func (l *Log) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = len(l.waiting) > 0
	return !l.serving
}

// batchBytes is how many bytes a batch of several records for a journal has at most.
const batchBytes = 1 << 20

// take takes what waits, at most as much as a batch may have.
func (l *Log) take() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size, limits := 0, 0, l.rows.Limits()
	for ; n < min(len(l.waiting), l.batch); n++ {
		size += len(l.waiting[n].data) + limits.Each
		if n > 0 && l.order != nil && size > min(batchBytes, limits.Swap) {
			break
		}
	}
	t := &turn{batch: slices.Clone(l.waiting[:n]), left: n}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	for _, w := range t.batch {
		w.turn = t
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	return t
}

// serve appends what waits, one batch after the other, until nothing does. Callers whose answer has just come are on
// their way back with their next record: it waits for them a little.
func (l *Log) serve() {
	for !l.idle() {
		l.crowd.Wait(l.pending, l.batch, l.wake, nil)
		t := l.take()
		if len(t.batch) == 0 {
			continue // their callers have left
		}
		began := time.Now()
		l.serveTurn(t)
		l.crowd.Answered(time.Since(began), len(t.batch)+l.pending())
	}
}

// serveTurn appends records, and tells each its index.
func (l *Log) serveTurn(t *turn) {
	defer t.cancel(nil)
	records := make([][]byte, len(t.batch))
	for i, w := range t.batch {
		records[i] = w.data
	}
	indexes, err := l.appendAll(t.ctx, records)
	for i, w := range t.batch {
		r := result{err: err}
		if err == nil {
			r.index = indexes[i]
		}
		w.answer <- r
	}
}

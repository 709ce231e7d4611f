package log

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
)

// waiter is a record that waits for its turn, and then for what became of it.
type waiter struct {
	ctx    context.Context //nolint:containedctx // of the call that waits
	data   []byte
	answer chan result // holds one
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
	if ctx.Err() != nil {
		return 0, told(ctx, context.Cause(ctx), "append")
	}
	if l.order != nil && l.batch == 1 {
		indexes, err := l.AppendAll(ctx, [][]byte{data})
		if err != nil {
			return 0, err
		}
		return indexes[0], nil
	}
	if l.lone() {
		return l.appendLone(ctx, data)
	}
	w := &waiter{ctx, data, make(chan result, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	if !l.serving {
		l.serving = true
		go l.serve()
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	select {
	case r := <-w.answer:
		return r.index, r.err
	case <-ctx.Done():
	}
	if l.leave(w) {
		return 0, told(ctx, context.Cause(ctx), "append")
	}
	return 0, told(ctx, fmt.Errorf("%w: it was under way", store.ErrUnknown), "append")
}

// lone makes the caller the one who serves, if the log is a journal and nobody else has appended lately: it need not wait
// for another goroutine, twice.
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
	indexes, err := l.AppendAll(ctx, [][]byte{data})
	l.crowd.Answered(time.Since(began), 1+l.pending())
	if !l.idle() {
		go l.serve()
	}
	if err != nil {
		return 0, err
	}
	return indexes[0], nil
}

// leave takes a record back whose turn has not come.
func (l *Log) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
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
func (l *Log) take() []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size, limits := 0, 0, l.rows.Limits()
	for ; n < min(len(l.waiting), l.batch); n++ {
		size += len(l.waiting[n].data) + limits.Each
		if n > 0 && l.order != nil && size > min(batchBytes, limits.Swap) {
			break
		}
	}
	batch := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return batch
}

// serve appends what waits, one batch after the other, until nothing does. Callers whose answer has just come are on
// their way back with their next record: it waits for them a little.
func (l *Log) serve() {
	for !l.idle() {
		l.crowd.Wait(l.pending, l.batch, l.wake, nil)
		batch := l.take()
		if len(batch) == 0 {
			continue // their callers have left
		}
		began := time.Now()
		l.serveBatch(batch)
		l.crowd.Answered(time.Since(began), len(batch)+l.pending())
	}
}

// serveBatch appends records, and tells each its index. It ends early when nobody waits any more.
func (l *Log) serveBatch(batch []*waiter) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var left atomic.Int64
	left.Store(int64(len(batch)))
	var records [][]byte
	for _, w := range batch {
		records = append(records, slices.Clone(w.data))
		stop := context.AfterFunc(w.ctx, func() {
			if left.Add(-1) == 0 {
				cancel(context.Cause(w.ctx))
			}
		})
		defer stop()
	}
	indexes, err := l.AppendAll(ctx, records)
	for i, w := range batch {
		r := result{err: err}
		if err == nil {
			r.index = indexes[i]
		}
		w.answer <- r
	}
}

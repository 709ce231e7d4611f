package log

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

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
// are in the next one.
func (l *Log) Append(ctx context.Context, data []byte) (uint64, error) {
	if err := l.refuse(data); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, told(ctx, context.Cause(ctx), "append")
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
	case r := <-w.answer:
		return r.index, r.err
	case <-ctx.Done():
	}
	if l.leave(w) {
		return 0, told(ctx, context.Cause(ctx), "append")
	}
	return 0, told(ctx, fmt.Errorf("%w: it was under way", store.ErrUnknown), "append")
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

// serve appends what waits, one batch after the other, until nothing does.
func (l *Log) serve() {
	for {
		l.mu.Lock()
		n := min(len(l.waiting), l.batch)
		batch := slices.Clone(l.waiting[:n])
		l.waiting = slices.Delete(l.waiting, 0, n)
		l.serving = n > 0
		l.mu.Unlock()
		if n == 0 {
			return
		}
		l.serveBatch(batch)
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
	first, err := l.AppendAll(ctx, records)
	for i, w := range batch {
		w.answer <- result{first + uint64(i), err} //nolint:gosec // i is not negative
	}
}

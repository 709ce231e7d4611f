package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/internal/crowd"
	"github.com/rota-run/rota/store"
)

// The limits of a transaction.
const (
	batchRecords = 512
	batchBytes   = 1 << 20
)

// addition is one record that waits to be appended.
type addition struct {
	data  []byte
	state additionState // guarded by appender.mu
	done  chan struct{} // closed when index and err are set
	index uint64
	err   error
}

type additionState int

const (
	waiting   additionState = iota // nothing was sent
	sent                           // its transaction is under way
	withdrawn                      // its caller is gone: it must not be sent
)

// appender is the one goroutine of a handle that appends. Records that come while it waits for an answer share the next transaction.
type appender struct {
	s *Store

	mu    sync.Mutex
	queue []*addition
	wake  chan struct{} // has room for one

	crowd crowd.Crowd // only the goroutine uses it

	turn  chan struct{} // has room for one: a goroutine that has put something in may send
	alone atomic.Bool   // the last transaction had one record, and nobody waited
}

func newAppender(s *Store) *appender {
	a := &appender{s: s, wake: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	s.inside.Add(1)
	go a.loop()
	return a
}

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, data []byte) (uint64, error) {
	index, err := s.append(ctx, data)
	if err != nil {
		return 0, s.wrap(err, "append")
	}
	return index, nil
}

func (s *Store) append(ctx context.Context, data []byte) (uint64, error) {
	if err := checkSize(data, MaxRecord); err != nil {
		return 0, err
	}
	calling, leave, err := s.enterChange(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if index, done, err := s.appender.direct(calling, data); done {
		return index, err
	}
	op := &addition{data: append([]byte{}, data...), done: make(chan struct{})}
	s.appender.submit(op)
	select {
	case <-op.done:
	case <-calling.Done():
		if s.appender.withdraw(op) {
			return 0, context.Cause(calling)
		}
		select {
		case <-op.done: // the answer came at the same time
		default:
			return 0, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(calling))
		}
	}
	return op.index, because(calling, op.err)
}

// direct appends a record without the goroutine, where nobody else appends: a caller alone need not wait for another goroutine to wake up, twice. done is
// false where somebody does, and nothing was sent.
func (a *appender) direct(ctx context.Context, data []byte) (index uint64, done bool, err error) {
	if !a.alone.Load() || a.pending() > 0 {
		return 0, false, nil
	}
	select {
	case a.turn <- struct{}{}:
	default:
		return 0, false, nil
	}
	defer func() { <-a.turn }()
	index, err = a.send(ctx, [][]byte{data})
	a.alone.Store(a.pending() == 0)
	return index, true, because(ctx, err)
}

func (a *appender) submit(op *addition) {
	a.mu.Lock()
	a.queue = append(a.queue, op)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// withdraw gives a record up; it reports whether that was before anything was sent.
func (a *appender) withdraw(op *addition) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	unsent := op.state == waiting
	op.state = withdrawn
	return unsent
}

func (a *appender) loop() {
	defer a.s.inside.Done()
	for {
		select {
		case <-a.wake:
		case <-a.s.ctx.Done():
			return // whoever waits sees the end of the handle without help
		}
		for a.once() {
		}
	}
}

// once makes one transaction; false if there is nothing to do.
func (a *appender) once() bool {
	if a.s.ctx.Err() != nil || a.pending() == 0 {
		return false
	}
	select {
	case a.turn <- struct{}{}:
	case <-a.s.ctx.Done():
		return false
	}
	defer func() { <-a.turn }()
	a.crowd.Wait(a.pending, batchRecords, a.wake, a.s.ctx.Done())
	batch := a.take()
	if len(batch) == 0 {
		return true
	}
	records := make([][]byte, len(batch))
	for i, op := range batch {
		records[i] = op.data
	}
	began := time.Now()
	last, err := a.send(a.s.ctx, records)
	callers := len(batch) + a.pending()
	a.alone.Store(callers == 1)
	a.crowd.Answered(time.Since(began), callers)
	for i, op := range batch {
		op.index, op.err = last-uint64(len(batch)-1-i), err //nolint:gosec // not negative
		close(op.done)
	}
	return true
}

// send appends records with one statement, so that the server needs no further word of this process to end the transaction, in which it keeps
// others from appending.
func (a *appender) send(ctx context.Context, records [][]byte) (last uint64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.s.options.Timeout, fmt.Errorf("no answer within %v", a.s.options.Timeout))
	defer cancel()
	rows, err := a.s.change(ctx, sqlAppend, records)
	switch {
	case err != nil:
		return 0, err
	case len(rows) != 1:
		return 0, fmt.Errorf("%w: the table head has no row", ErrDamaged)
	}
	return uint64(rows[0].int(0)), nil //nolint:gosec // not negative
}

func (a *appender) pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue)
}

// take takes the oldest records, and drops those that were withdrawn.
func (a *appender) take() []*addition {
	a.mu.Lock()
	defer a.mu.Unlock()
	var batch []*addition
	size := 0
	for len(a.queue) > 0 && len(batch) < batchRecords {
		op := a.queue[0]
		if size += len(op.data); len(batch) > 0 && size > batchBytes {
			break
		}
		a.queue[0] = nil
		a.queue = a.queue[1:]
		if op.state == waiting {
			op.state = sent
			batch = append(batch, op)
		}
	}
	return batch
}

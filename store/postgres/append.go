package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store/internal/crowd"
	"github.com/rota-run/rota/store/internal/driver"
)

// The limits of a transaction.
const (
	batchRecords = 512
	batchBytes   = 1 << 20
)

// appender is the one goroutine of a handle that appends. Records that come while it waits for an answer share the next transaction.
type appender struct {
	s     *Store
	queue *driver.Queue
	crowd crowd.Crowd // only the goroutine uses it

	turn  chan struct{} // has room for one: a goroutine that has put something in may send
	alone atomic.Bool   // the last transaction had one record, and nobody waited
}

func newAppender(s *Store) *appender {
	a := &appender{s: s, queue: driver.NewQueue(), turn: make(chan struct{}, 1)}
	s.inside.Add(1)
	go a.loop()
	return a
}

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, data []byte) (_ uint64, err error) {
	defer s.place.Wrap(&err, "append")
	if err := driver.CheckSize(data, MaxRecord); err != nil {
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
	q := s.appender.queue
	return q.Wait(calling, q.Add(data))
}

// direct appends a record without the goroutine, where nobody else appends: a caller alone need not wait for another goroutine to wake up, twice. done is
// false where somebody does, and nothing was sent.
func (a *appender) direct(ctx context.Context, data []byte) (index uint64, done bool, err error) {
	if !a.alone.Load() || a.queue.Len() > 0 {
		return 0, false, nil
	}
	select {
	case a.turn <- struct{}{}:
	default:
		return 0, false, nil
	}
	defer func() { <-a.turn }()
	index, err = a.send(ctx, [][]byte{data})
	a.alone.Store(a.queue.Len() == 0)
	return index, true, driver.Because(ctx, err)
}

func (a *appender) loop() {
	defer a.s.inside.Done()
	for {
		select {
		case <-a.queue.Wake:
		case <-a.s.ctx.Done():
			return // whoever waits sees the end of the handle without help
		}
		for a.once() {
		}
	}
}

// once makes one transaction; false if there is nothing to do.
func (a *appender) once() bool {
	if a.s.ctx.Err() != nil || a.queue.Len() == 0 {
		return false
	}
	select {
	case a.turn <- struct{}{}:
	case <-a.s.ctx.Done():
		return false
	}
	defer func() { <-a.turn }()
	a.crowd.Wait(a.queue.Len, batchRecords, a.queue.Wake, a.s.ctx.Done())
	batch := a.queue.Take(batchRecords, batchBytes, 0)
	if len(batch) == 0 {
		return true
	}
	records := make([][]byte, len(batch))
	for i, op := range batch {
		records[i] = op.Data
	}
	began := time.Now()
	last, err := a.send(a.s.ctx, records)
	callers := len(batch) + a.queue.Len()
	a.alone.Store(callers == 1)
	a.crowd.Answered(time.Since(began), callers)
	driver.Answer(batch, last+1-uint64(len(batch)), err)
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

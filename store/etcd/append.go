package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/crowd"
	"github.com/rota-run/rota/store"
)

// The limits of a transaction. A server allows 128 operations, one of which is for the head, and requests of 1.5 MiB.
const (
	batchRecords = 127
	batchBytes   = 1 << 20
)

// addition is one record that waits to be appended.
type addition struct {
	data  string
	state additionState // guarded by appender.mu
	done  chan struct{} // closed when index and err are set
	index uint64
	err   error
}

type additionState int

const (
	waiting   additionState = iota // nothing was sent that is still open
	sent                           // its transaction is under way
	withdrawn                      // its caller is gone: it must not be sent again
)

// appender is the one goroutine of a handle that appends. Records that come while it waits for an answer share the next transaction, so
// that callers of one handle do not compete; handles do, and the loser retries after the other's records.
type appender struct {
	s *Store

	mu    sync.Mutex
	queue []*addition
	wake  chan struct{} // has room for one

	// Only the goroutine uses what follows.
	known    bool   // whether head and revision are what was last seen
	head     uint64 // index of the newest record
	revision int64  // mod revision of the head's key; 0: there is none yet
	most     int    // records in a transaction

	conflicts int // since the last transaction that was not one
	crowd     crowd.Crowd
}

func newAppender(s *Store) *appender {
	a := &appender{s: s, wake: make(chan struct{}, 1), most: batchRecords}
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
	op := &addition{data: string(data), done: make(chan struct{})}
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

func (a *appender) submit(op *addition) {
	a.mu.Lock()
	a.queue = append(a.queue, op)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// withdraw gives a record up; it reports whether that was before anything was sent that may still be executed.
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
			return // whoever waits sees the end of the handle by himself
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
	if err := a.learn(); err != nil {
		a.finish(a.take(), err)
		return true
	}
	a.crowd.Wait(a.pending, a.most, a.wake, a.s.ctx.Done())
	batch := a.take()
	if len(batch) == 0 {
		return true
	}
	began := time.Now()
	again, err := a.try(batch)
	if !again {
		a.conflicts = 0
		a.crowd.Answered(time.Since(began), len(batch)+a.pending())
		a.finish(batch, err)
		return true
	}
	a.back(batch)
	if a.conflicts++; a.conflicts > 1 { // others are quick: do not all come back at once
		pause(a.s.ctx, time.Duration(min(a.conflicts, 10))*time.Millisecond)
	}
	return true
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
	for len(a.queue) > 0 && len(batch) < a.most {
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

// back puts records of which it is proven that they were not appended to the front again.
func (a *appender) back(batch []*addition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, op := range batch {
		if op.state == sent {
			op.state = waiting
		}
	}
	a.queue = append(batch, a.queue...)
}

func (a *appender) finish(batch []*addition, err error) {
	for _, op := range batch {
		op.err = err
		close(op.done)
	}
}

// learn reads where the log ends, if that is not known.
func (a *appender) learn() error {
	if a.known {
		return nil
	}
	r, err := a.s.read(a.s.ctx, a.s.keys.head())
	if err == nil {
		err = a.see(r.Kvs)
	}
	return err
}

// see notes the head's key as it was read.
func (a *appender) see(kvs []*mvccpb.KeyValue) error {
	head, err := number(kvs)
	if err != nil {
		return err
	}
	a.known, a.head, a.revision = true, head, 0
	if len(kvs) > 0 {
		a.revision = kvs[0].ModRevision
	}
	return nil
}

// number reads a key that holds an index; 0 if the key is not there.
func number(kvs []*mvccpb.KeyValue) (uint64, error) {
	if len(kvs) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(kvs[0].Value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: the key %q holds %.40q, not a number", ErrDamaged, kvs[0].Key, kvs[0].Value)
	}
	return n, nil
}

// try sends a transaction that appends a batch. again: it is proven that nothing was appended, and another try may succeed.
func (a *appender) try(batch []*addition) (again bool, err error) {
	ctx, cancel := context.WithTimeoutCause(a.s.ctx, a.s.timeout, fmt.Errorf("no answer within %v", a.s.timeout))
	defer cancel()
	head := a.s.keys.head()
	puts := make([]clientv3.Op, 0, len(batch)+1)
	for i, op := range batch {
		puts = append(puts, clientv3.OpPut(a.s.keys.record(a.head+1+uint64(i)), op.data))
	}
	last := a.head + uint64(len(batch))
	puts = append(puts, clientv3.OpPut(head, strconv.FormatUint(last, 10)))
	r, err := change(ctx, a.s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return a.s.client.Txn(ctx).If(at(head, a.revision)).Then(puts...).Else(clientv3.OpGet(head)).Commit()
	})
	switch {
	case err != nil:
		a.known = false
		err = a.s.full(ctx, err, head, a.revision)
		return a.smaller(len(batch), err), err
	case !r.Succeeded:
		err := a.see(rangeOf(r, 0).Kvs)
		return err == nil, err
	}
	for i, op := range batch {
		op.index = a.head + 1 + uint64(i)
	}
	a.head, a.revision = last, r.Header.Revision
	return false, nil
}

// smaller reports whether the server, which allows less than is usual, may take a smaller batch.
func (a *appender) smaller(batch int, err error) bool {
	if batch < 2 || !errors.Is(err, store.ErrTooLarge) && !is(err, rpctypes.ErrTooManyOps) {
		return false
	}
	a.most = batch / 2
	return true
}

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/crowd"
	"github.com/rota-run/rota/store/internal/driver"
)

// The limits of a transaction. A server allows 128 operations, one of which is for the head, and requests of 1.5 MiB.
const (
	batchRecords = 127
	batchBytes   = 1 << 20
)

// appender is the one goroutine of a handle that appends. Records that come while it waits for an answer share the next transaction, so
// that callers of one handle do not compete; handles do, and the loser retries after the other's records.
type appender struct {
	s     *Store
	queue *driver.Queue

	// Only the goroutine uses what follows.
	known    bool   // whether head and revision are what was last seen
	head     uint64 // index of the newest record
	revision int64  // mod revision of the head's key; 0: there is none yet
	most     int    // records in a transaction

	contest contest
	crowd   crowd.Crowd
}

func newAppender(s *Store) *appender {
	a := &appender{s: s, queue: driver.NewQueue(), most: batchRecords}
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
	q := s.appender.queue
	return q.Wait(calling, q.Add(data))
}

func (a *appender) loop() {
	defer a.s.inside.Done()
	for {
		select {
		case <-a.queue.Wake:
		case <-a.s.ctx.Done():
			return // whoever waits sees the end of the handle by himself
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
	if err := a.learn(); err != nil {
		driver.Answer(a.take(), 0, err)
		return true
	}
	a.crowd.Wait(a.queue.Len, a.most, a.queue.Wake, a.s.ctx.Done())
	batch := a.take()
	if len(batch) == 0 {
		return true
	}
	began := time.Now()
	first, again, err := a.try(batch)
	if !again {
		a.contest.win()
		a.crowd.Answered(time.Since(began), len(batch)+a.queue.Len())
		driver.Answer(batch, first, err)
		return true
	}
	a.queue.Back(batch)
	a.contest.lose(time.Since(began))
	if about := a.contest.pause(); about > 0 {
		pause(a.s.ctx, about)
		a.known = false // others went on meanwhile: a read is cheaper than another loss
	}
	return true
}

func (a *appender) take() []*driver.Record { return a.queue.Take(a.most, batchBytes, 0) }

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
func (a *appender) try(batch []*driver.Record) (first uint64, again bool, err error) {
	ctx, cancel := context.WithTimeoutCause(a.s.ctx, a.s.timeout, fmt.Errorf("no answer within %v", a.s.timeout))
	defer cancel()
	head := a.s.keys.head()
	puts := make([]clientv3.Op, 0, len(batch)+1)
	for i, op := range batch {
		puts = append(puts, clientv3.OpPut(a.s.keys.record(a.head+1+uint64(i)), string(op.Data)))
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
		return 0, a.smaller(len(batch), err), err
	case !r.Succeeded:
		err := a.see(rangeOf(r, 0).Kvs)
		return 0, err == nil, err
	}
	first = a.head + 1
	a.head, a.revision = last, r.Header.Revision
	return first, false, nil
}

// smaller reports whether the server, which allows less than is usual, may take a smaller batch.
func (a *appender) smaller(batch int, err error) bool {
	if batch < 2 || !errors.Is(err, store.ErrTooLarge) && !is(err, rpctypes.ErrTooManyOps) {
		return false
	}
	a.most = batch / 2
	return true
}

package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/crowd"
	"github.com/rota-run/rota/store/internal/driver"
)

// The limits of a batch, in records and bytes, and the overhead of each record: a request has at most 1 MB.
const (
	batchRecords  = 256
	batchBytes    = MaxRecord + recordCost
	recordCost    = 512 // bytes: a path of up to 300, an ACL, numbers
	mostBackoff   = 64 * time.Millisecond
	firstBackoff  = time.Millisecond
	backoffLevels = 6
	unsynced      = 2 // attempts after which the server must catch up before the header is read
)

// appender writes what callers want to append, batch by batch: those that come while a batch is under way make the next one, together with those who come
// back when it is answered. Its goroutine lives only while something waits.
type appender struct {
	s     *Store
	wg    sync.WaitGroup
	queue *driver.Queue
	crowd crowd.Crowd // the goroutine's own

	mu     sync.Mutex
	busy   bool
	ended  bool     // the store is closed: no goroutine begins any more
	known  headerAt // newest header that this handle has seen
	learnt bool     // known is set
}

func newAppender(s *Store) *appender { return &appender{s: s, queue: driver.NewQueue()} }

// Append implements store.Log. Concurrent calls of one handle share a request. A lost answer is found again, if the
// connection comes back in time: see Lost answers in the package comment.
func (s *Store) Append(ctx context.Context, data []byte) (_ uint64, err error) {
	defer driver.Wrap(&err, "append")
	if err := driver.CheckSize(data, MaxRecord); err != nil {
		return 0, err
	}
	if err := s.enterWriting(ctx); err != nil {
		return 0, err
	}
	r, ok := s.appender.put(data)
	if !ok {
		return 0, store.ErrClosed
	}
	return s.appender.queue.Wait(ctx, r)
}

// put adds a record, and begins a goroutine where there is none; false where the store is closed.
func (a *appender) put(data []byte) (*driver.Record, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return nil, false
	}
	r := a.queue.Add(data)
	if !a.busy {
		a.busy = true
		a.wg.Go(a.run)
	}
	return r, true
}

// end waits for the goroutine. Nothing can be put any more: a goroutine that began during the wait would outlive Close.
func (a *appender) end() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.wg.Wait()
}

// run writes batches until nobody waits.
func (a *appender) run() {
	for a.goOn() {
		a.crowd.Wait(a.queue.Len, batchRecords, a.queue.Wake, a.s.link.closing)
		batch, began := a.queue.Take(batchRecords, batchBytes, recordCost), time.Now()
		if len(batch) == 0 { // all were withdrawn
			continue
		}
		first, err := a.write(batch)
		a.crowd.Answered(time.Since(began), len(batch)+a.queue.Len())
		driver.Answer(batch, first, a.s.failed(err))
	}
}

// goOn ends the goroutine when nobody waits.
func (a *appender) goOn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = a.queue.Len() > 0
	return a.busy
}

// learn remembers a header, unless a newer one is known.
func (a *appender) learn(h headerAt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.learnt || h.version-a.known.version > 0 { // wraps as the server's counter does
		a.known, a.learnt = h, true
	}
}

func (a *appender) newest(ctx context.Context) (headerAt, error) {
	a.mu.Lock()
	h, ok := a.known, a.learnt
	a.mu.Unlock()
	if ok {
		return h, nil
	}
	return a.s.readHeader(ctx)
}

// write appends a batch and returns the index of its first record.
//
// The header's version is named by the request, and each success changes it: so of all requests that name one version at most one is done. A lost answer is
// therefore no loss: the same request is sent again. If it is done, the first one was not and never will be; if the version has gone on, then the first
// record at the place shows its writer by the name of its batch.
func (a *appender) write(batch []*driver.Record) (first uint64, err error) {
	ctx, name, lost := context.Background(), newLife(), error(nil)
	h, err := a.newest(ctx)
	for attempt := 0; err == nil; attempt++ {
		var done headerAt
		done, err = a.attempt(ctx, h, name, batch)
		var sent *sentError
		switch {
		case err == nil:
			a.learn(done)
			return h.head + 1, nil
		case errors.As(err, &sent):
			lost, err = err, nil
			continue // the same again, once there is a connection
		case !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists):
			continue // ends
		case lost != nil:
			var ours bool
			if ours, err = a.ours(ctx, h.head+1, name); ours {
				return h.head + 1, nil
			}
			if err == nil {
				lost = nil
			}
		default:
			err = nil
		}
		if err == nil {
			h, err = a.afterConflict(ctx, h, attempt)
		}
	}
	if lost != nil {
		return 0, lost
	}
	return 0, err
}

// attempt makes the request.
func (a *appender) attempt(ctx context.Context, h headerAt, name string, batch []*driver.Record) (headerAt, error) {
	next := h.header
	next.head += uint64(len(batch))
	ops := []any{a.s.setHeader(next, h.version)}
	for i, w := range batch {
		data := append([]byte(name), w.Data...)
		ops = append(ops, &zk.CreateRequest{Path: a.s.recordPath(h.head + 1 + uint64(i)), Data: data, Acl: a.s.acl}) //nolint:gosec // i is not negative
	}
	results, err := multi(ctx, a.s.link, ops...)
	if err != nil {
		return headerAt{}, err
	}
	return headerAt{next, results[0].Stat.Version}, nil
}

// ours reports whether the record at an index belongs to a batch. An error: that cannot be known.
func (a *appender) ours(ctx context.Context, index uint64, name string) (ours bool, err error) {
	err = a.s.fresh(ctx, func() error {
		h, err := a.s.readHeader(ctx)
		if err != nil {
			return err
		}
		if h.trimmed >= index {
			return fmt.Errorf("record %d was trimmed before its answer was found", index)
		}
		n, err := a.s.node(ctx, a.s.recordPath(index))
		if errors.Is(err, zk.ErrNoNode) {
			ours = false // the version went on without a record: somebody trimmed
			return nil
		}
		if err != nil {
			return err
		}
		got, _, err := decodeRecord(a.s.recordPath(index), n.data)
		ours = got == name
		return err
	})
	return ours, err
}

// afterConflict waits a random time, so that several handles do not collide again and again, and returns a header that is newer than h.
func (a *appender) afterConflict(ctx context.Context, h headerAt, attempt int) (headerAt, error) {
	if err := a.s.pause(ctx, attempt); err != nil {
		return h, err
	}
	if known, err := a.newest(ctx); err == nil && known.version != h.version {
		return known, nil
	}
	if attempt < unsynced { // the refusal came through the same server behind what it collided with; if not, we collide again
		return a.s.readHeader(ctx)
	}
	var next headerAt
	err := a.s.fresh(ctx, func() (err error) {
		next, err = a.s.readHeader(ctx)
		return err
	})
	return next, err
}

// backoff is nothing at first: mostly somebody has just appended, and that is all.
func backoff(attempt int) time.Duration {
	if attempt == 0 {
		return 0
	}
	return rand.N(min(firstBackoff<<min(attempt, backoffLevels), mostBackoff))
}

// pause waits a random time before another attempt.
func (s *Store) pause(ctx context.Context, attempt int) error {
	select {
	case <-time.After(backoff(attempt)):
		return nil
	case <-s.link.closing:
		return errLinkClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

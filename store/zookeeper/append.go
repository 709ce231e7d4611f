package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/crowd"
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

// waiting is an append that waits for its answer.
type waiting struct {
	data  []byte
	done  chan struct{}
	index uint64
	err   error
}

// appender writes what callers want to append, batch by batch: those that come while a batch is under way make the next one, together with those who come
// back when it is answered. Its goroutine lives only while something waits.
type appender struct {
	s     *Store
	wg    sync.WaitGroup
	wake  chan struct{} // room for one: something waits
	crowd crowd.Crowd   // the goroutine's own

	mu     sync.Mutex
	queue  []*waiting
	busy   bool
	known  headerAt // newest header that this handle has seen
	learnt bool     // known is set
}

func newAppender(s *Store) *appender { return &appender{s: s, wake: make(chan struct{}, 1)} }

// Append implements store.Log. Concurrent calls of one handle share a request. A lost answer is found again, if the
// connection comes back in time: see Lost answers in the package comment.
func (s *Store) Append(ctx context.Context, data []byte) (uint64, error) {
	index, err := s.append(ctx, data)
	if err != nil {
		return 0, fmt.Errorf("append: %w", err)
	}
	return index, nil
}

func (s *Store) append(ctx context.Context, data []byte) (uint64, error) {
	if err := checkSize(data); err != nil {
		return 0, err
	}
	if err := s.enterWriting(ctx); err != nil {
		return 0, err
	}
	w := &waiting{data: append([]byte(nil), data...), done: make(chan struct{})}
	s.appender.put(w)
	select {
	case <-w.done:
		return w.index, because(ctx, s.failed(w.err))
	case <-ctx.Done():
	}
	if s.appender.withdraw(w) {
		return 0, fmt.Errorf("not sent: %w", context.Cause(ctx))
	}
	return 0, s.failed(&sentError{context.Cause(ctx)})
}

func (a *appender) put(w *waiting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, w)
	if !a.busy {
		a.busy = true
		a.wg.Go(a.run)
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// withdraw takes a call back that is in no batch yet.
func (a *appender) withdraw(w *waiting) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, other := range a.queue {
		if other == w {
			a.queue = append(a.queue[:i:i], a.queue[i+1:]...)
			return true
		}
	}
	return false
}

func (a *appender) wait() { a.wg.Wait() }

// run writes batches until nobody waits.
func (a *appender) run() {
	for a.goOn() {
		a.crowd.Wait(a.waiting, batchRecords, a.wake, a.s.link.closing)
		batch, began := a.take(), time.Now()
		if len(batch) == 0 { // all were withdrawn
			continue
		}
		first, err := a.write(batch)
		a.crowd.Answered(time.Since(began), len(batch)+a.waiting())
		for i, w := range batch {
			w.index, w.err = first+uint64(i), err //nolint:gosec // i is not negative
			close(w.done)
		}
	}
}

// goOn ends the goroutine when nobody waits.
func (a *appender) goOn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = len(a.queue) > 0
	return a.busy
}

func (a *appender) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue)
}

func (a *appender) take() []*waiting {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, size := 0, 0
	for n < len(a.queue) && n < batchRecords {
		size += len(a.queue[n].data) + recordCost
		if n > 0 && size > batchBytes {
			break
		}
		n++
	}
	batch := a.queue[:n:n]
	if a.queue = a.queue[n:]; len(a.queue) == 0 {
		a.queue = nil
	}
	return batch
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
func (a *appender) write(batch []*waiting) (first uint64, err error) {
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
func (a *appender) attempt(ctx context.Context, h headerAt, name string, batch []*waiting) (headerAt, error) {
	next := h.header
	next.head += uint64(len(batch))
	ops := []any{a.s.setHeader(next, h.version)}
	for i, w := range batch {
		data := append([]byte(name), w.data...)
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

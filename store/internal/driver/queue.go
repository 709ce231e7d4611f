package driver

import (
	"context"
	"fmt"
	"sync"

	"github.com/rota-run/rota/store"
)

// Queue holds the records of concurrent callers until one goroutine sends them, several in one request.
type Queue struct {
	// Wake has room for one: something was added.
	Wake chan struct{}

	mu      sync.Mutex
	records []*Record
}

// Record is one record that its caller waits for.
type Record struct {
	Data []byte

	state recordState // guarded by Queue.mu
	done  chan struct{}
	index uint64 // with err: set before done is closed
	err   error
}

type recordState uint8

const (
	waiting   recordState = iota // nothing was sent that may still be executed
	sent                         // its request is under way
	withdrawn                    // its caller is gone: it must not be sent again
)

// NewQueue is a queue without records.
func NewQueue() *Queue { return &Queue{Wake: make(chan struct{}, 1)} }

// Add adds a copy of a record, which is never nil.
func (q *Queue) Add(data []byte) *Record {
	r := &Record{Data: append([]byte{}, data...), done: make(chan struct{})}
	q.mu.Lock()
	q.records = append(q.records, r)
	q.mu.Unlock()
	select {
	case q.Wake <- struct{}{}:
	default:
	}
	return r
}

// Wait waits for the answer of a record and returns its index, or until ctx ends. Then the record is withdrawn: the error is the cause of ctx where nothing
// was sent, and store.ErrUnknown too where a request was that may still be executed.
func (q *Queue) Wait(ctx context.Context, r *Record) (uint64, error) {
	select {
	case <-r.done:
		return r.index, Because(ctx, r.err)
	case <-ctx.Done():
	}
	if q.withdraw(r) {
		return 0, fmt.Errorf("not sent: %w", context.Cause(ctx))
	}
	select {
	case <-r.done: // the answer came at the same time
		return r.index, Because(ctx, r.err)
	default:
		return 0, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}

// withdraw gives a record up. It reports whether nothing was sent that may still be executed.
func (q *Queue) withdraw(r *Record) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	unsent := r.state == waiting
	r.state = withdrawn
	return unsent
}

// Len is how many records wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.records)
}

// Take takes the oldest records, and drops those that were withdrawn: so many records at most, and so many bytes, where each record costs some bytes more
// than its data. The first record is taken whatever its size.
func (q *Queue) Take(records, bytes, cost int) []*Record {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*Record
	size := 0
	for len(q.records) > 0 && len(batch) < records {
		r := q.records[0]
		if size += len(r.Data) + cost; len(batch) > 0 && size > bytes {
			break
		}
		q.records[0] = nil
		q.records = q.records[1:]
		if r.state == waiting {
			r.state = sent
			batch = append(batch, r)
		}
	}
	return batch
}

// Back puts records of which it is proven that they were not appended to the front again.
func (q *Queue) Back(batch []*Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range batch {
		if r.state == sent {
			r.state = waiting
		}
	}
	q.records = append(batch, q.records...)
}

// Answer ends the wait of each record: the first one has index first, unless there is an error.
func Answer(batch []*Record, first uint64, err error) {
	for i, r := range batch {
		if r.err = err; err == nil {
			r.index = first + uint64(i) //nolint:gosec // not negative
		}
		close(r.done)
	}
}

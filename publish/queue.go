package publish

import (
	"sync"
	"time"

	"github.com/rota-run/rota/internal/wait"
)

// queue is the bounded waiting room of one publisher and the place where its samples are counted, so that the counters
// always add up.
type queue struct {
	mu       sync.Mutex
	waiting  []Sample
	inFlight int // taken and neither sent nor dropped yet
	limit    int
	closed   bool
	stats    Stats
	some     wait.Wake // holds a token when waiting is not empty
	full     wait.Wake // holds a token when a batch is waiting
	batch    int
	marks    []mark // when samples came, oldest first, for the lag
	added    int64  // samples that were ever queued
	last     string // the last error
	lastAt   time.Time
}

// mark says that the sample with this number, and those after it until the next mark, were queued then.
type mark struct {
	number int64
	at     time.Time
}

// markEvery bounds how many marks there are, and how exact the lag is.
const markEvery = 100 * time.Millisecond

func newQueue(limit, batch int) *queue {
	return &queue{limit: limit, batch: min(batch, limit), some: wait.NewWake(), full: wait.NewWake()}
}

// add queues what fits and drops the rest.
func (q *queue) add(samples []Sample) {
	q.mu.Lock()
	defer q.mu.Unlock()
	room := max(0, q.limit-len(q.waiting)-q.inFlight)
	if q.closed {
		room = 0
	}
	n := min(room, len(samples))
	if n > 0 {
		if now := time.Now(); len(q.marks) == 0 || now.Sub(q.marks[len(q.marks)-1].at) >= markEvery {
			q.marks = append(q.marks, mark{q.added, now})
		}
	}
	q.added += int64(n)
	q.waiting = append(q.waiting, samples[:n]...)
	q.stats.Dropped += int64(len(samples) - n)
	if n > 0 {
		q.some.Set()
	}
	if len(q.waiting) >= q.batch {
		q.full.Set()
	}
}

// take moves up to a batch from waiting to in flight.
func (q *queue) take() []Sample {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(q.batch, len(q.waiting))
	out := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting = nil // let the array go
	} else {
		q.some.Set()
	}
	q.inFlight += n
	q.full.Clear()
	if len(q.waiting) >= q.batch {
		q.full.Set()
	}
	return out
}

// settle counts samples in flight as sent or dropped.
func (q *queue) settle(sent, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settleLocked(sent, dropped)
}

func (q *queue) settleLocked(sent, dropped int) {
	if q.closed {
		return // close counted them as dropped already
	}
	q.inFlight -= sent + dropped
	q.stats.Sent += int64(sent)
	q.stats.Dropped += int64(dropped)
	oldest := q.added - int64(len(q.waiting)+q.inFlight)
	for len(q.marks) > 1 && q.marks[1].number <= oldest {
		q.marks = q.marks[1:]
	}
	if oldest == q.added {
		q.marks = nil
	}
}

// failed counts an attempt that failed.
func (q *queue) failed(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Errors++
	q.last, q.lastAt = err.Error(), time.Now()
}

// close drops what is left, and all that comes later. It returns how many were left.
func (q *queue) close() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := len(q.waiting) + q.inFlight
	q.stats.Dropped += int64(left)
	q.waiting, q.inFlight, q.marks, q.closed = nil, 0, nil, true
	return left
}

func (q *queue) snapshot() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Queued = int64(len(q.waiting) + q.inFlight)
	return s
}

// report is the status of the sink without its name.
func (q *queue) report() Status {
	s := Status{Stats: q.snapshot()}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.marks) > 0 && len(q.waiting)+q.inFlight > 0 {
		s.LagMS = time.Since(q.marks[0].at).Milliseconds()
	}
	if q.last != "" {
		s.LastError, s.LastErrorAtMS = q.last, q.lastAt.UnixMilli()
	}
	return s
}

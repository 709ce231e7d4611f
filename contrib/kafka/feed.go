package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// most is how many fetches of one partition wait in memory; then it is paused.
const most = 2

// batch is what one fetch brought for a partition.
type batch struct {
	records []*kgo.Record
	end     int64 // the first offset that is not readable yet
	err     error
}

// feed is the queue between the client, which never waits, and one run.
type feed struct {
	ready chan struct{} // holds a token while there is something
	valve func(open bool)

	mu     sync.Mutex
	queue  []batch
	paused bool
}

func newFeed(valve func(open bool)) *feed {
	return &feed{ready: make(chan struct{}, 1), valve: valve}
}

// put is called by one goroutine. The valve is moved under the lock: else an older turn of it could come last.
func (f *feed) put(b batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, b)
	if len(f.queue) >= most && !f.paused {
		f.paused = true
		f.valve(false)
	}
	f.signal()
}

// next takes the oldest batch; ok is false where there is none.
func (f *feed) next() (b batch, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return batch{}, false
	}
	b, f.queue = f.queue[0], f.queue[1:]
	if len(f.queue) > 0 {
		f.signal()
	} else if f.paused {
		f.paused = false
		f.valve(true)
	}
	return b, true
}

func (f *feed) signal() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

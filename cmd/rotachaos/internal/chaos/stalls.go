package chaos

import (
	"sync/atomic"
	"time"
)

// stalls measures how long the machine lets a process wait that wants to run: a member that gets no processor is as good as suspended, and
// nobody wrote that down.
type stalls struct {
	most  atomic.Int64
	stop  chan struct{}
	ended chan struct{}
}

// stallBeat is how often the goroutine wants to run.
const stallBeat = 10 * time.Millisecond

func watchStalls() *stalls {
	s := &stalls{stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		tick := time.NewTicker(stallBeat)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-s.stop:
				return
			case <-tick.C:
				now := time.Now()
				s.most.Store(max(s.most.Load(), int64(now.Sub(last)-stallBeat)))
				last = now
			}
		}
	}()
	return s
}

// longest is the longest wait so far.
func (s *stalls) longest() time.Duration { return time.Duration(s.most.Load()) }

func (s *stalls) close() {
	close(s.stop)
	<-s.ended
}

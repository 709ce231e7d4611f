package chaos

import (
	"sync"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/sim/history"
)

// stalls notes when the machine let a process wait that wanted to run: a virtual machine that stood still, no free processor. A member that gets no
// processor is as good as suspended, and nobody else writes that down.
type stalls struct {
	stop  chan struct{}
	ended chan struct{}

	mu    sync.Mutex // guards what follows
	spans []history.Span
	most  time.Duration
}

// The goroutine wants to run in every beat. Being late by less than worthNoting is what wake and the bound of gaps have room for.
const (
	stallBeat   = 10 * time.Millisecond
	worthNoting = 40 * time.Millisecond
)

func watchStalls() *stalls {
	s := &stalls{stop: make(chan struct{}), ended: make(chan struct{})}
	go s.watch()
	return s
}

func (s *stalls) watch() {
	defer close(s.ended)
	tick := time.NewTicker(stallBeat)
	defer tick.Stop()
	for last := protocol.Now(); ; {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			now := protocol.Now()
			s.note(last, now)
			last = now
		}
	}
}

func (s *stalls) note(last, now protocol.Instant) {
	late := now.Sub(last) - stallBeat
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, late)
	if late >= worthNoting {
		s.spans = append(s.spans, history.Span{From: int64(last), To: int64(now), Why: "the machine stood still"})
	}
}

// soFar are the stalls that are worth noting, and the longest of all.
func (s *stalls) soFar() ([]history.Span, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]history.Span(nil), s.spans...), s.most
}

// during is how long the machine stood still since an instant.
func (s *stalls) during(from protocol.Instant) (d time.Duration) {
	spans, _ := s.soFar()
	for _, x := range spans {
		if x.To > int64(from) {
			d += time.Duration(x.To - max(x.From, int64(from)))
		}
	}
	return d
}

func (s *stalls) close() {
	close(s.stop)
	<-s.ended
}

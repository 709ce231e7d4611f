package process

import (
	"sync"
	"time"

	"github.com/rota-run/rota/protocol"
)

// Span is the time in which this process did not run, by [protocol.Now], which all processes of a machine share.
type Span struct{ From, To int64 }

// Stalls records when the machine kept this process waiting although it wanted to run, until it is closed: a virtual machine that was paused, no free
// processor. Its methods may be called from any goroutine, Close once.
type Stalls struct {
	stop  chan struct{}
	ended chan struct{}

	mu    sync.Mutex // guards what follows
	spans []Span
	most  time.Duration
}

// The goroutine wants to run in every beat. Being late by less than worthNoting happens on any machine.
const (
	beat        = 10 * time.Millisecond
	worthNoting = 40 * time.Millisecond
)

// WatchStalls starts the watch.
func WatchStalls() *Stalls {
	w := &Stalls{stop: make(chan struct{}), ended: make(chan struct{})}
	go w.watch()
	return w
}

func now() int64 { return int64(protocol.Now()) }

func (w *Stalls) watch() {
	defer close(w.ended)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for last := now(); ; {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			at := now()
			w.note(last, at)
			last = at
		}
	}
}

func (w *Stalls) note(last, now int64) {
	late := time.Duration(now-last) - beat
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = max(w.most, late)
	if late >= worthNoting {
		w.spans = append(w.spans, Span{last, now})
	}
}

// Spans are the stalls of 40 ms and more, oldest first.
func (w *Stalls) Spans() []Span {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Span(nil), w.spans...)
}

// Longest is the longest of all stalls, shorter ones too.
func (w *Stalls) Longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// Since is for how long this process has not run since an instant.
func (w *Stalls) Since(from int64) (d time.Duration) {
	for _, x := range w.Spans() {
		if x.To > from {
			d += time.Duration(x.To - max(x.From, from))
		}
	}
	return d
}

// Close ends the watch. What it recorded can still be read.
func (w *Stalls) Close() {
	close(w.stop)
	<-w.ended
}

package stall

import (
	"sync"
	"time"
)

// Clock tells nanoseconds since whenever, and goes on while the machine stands still.
type Clock func() int64

// Span is from when until when nothing ran, by the clock.
type Span struct{ From, To int64 }

// Watch notes stalls until it is closed. Its methods may be called from any goroutine, Close once.
type Watch struct {
	now   Clock
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

// Begin begins to watch.
func Begin(now Clock) *Watch {
	w := &Watch{now: now, stop: make(chan struct{}), ended: make(chan struct{})}
	go w.watch()
	return w
}

func (w *Watch) watch() {
	defer close(w.ended)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for last := w.now(); ; {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			now := w.now()
			w.note(last, now)
			last = now
		}
	}
}

func (w *Watch) note(last, now int64) {
	late := time.Duration(now-last) - beat
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = max(w.most, late)
	if late >= worthNoting {
		w.spans = append(w.spans, Span{last, now})
	}
}

// Spans are the stalls of 40 ms and more, oldest first.
func (w *Watch) Spans() []Span {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Span(nil), w.spans...)
}

// Longest is the longest of all stalls, shorter ones too.
func (w *Watch) Longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// Since is how long nothing ran since an instant.
func (w *Watch) Since(from int64) (d time.Duration) {
	for _, x := range w.Spans() {
		if x.To > from {
			d += time.Duration(x.To - max(x.From, from))
		}
	}
	return d
}

// Close ends the watch. What it noted can still be read.
func (w *Watch) Close() {
	close(w.stop)
	<-w.ended
}

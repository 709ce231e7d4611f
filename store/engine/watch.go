package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
)

// A watch that broke begins again after a pause, doubled each time up to watchPauseMost.
const (
	watchPause     = 100 * time.Millisecond
	watchPauseMost = 3 * time.Second
)

// watch is a watch of a driver that begins again.
type watch struct {
	begin func(ctx context.Context, hint func()) error
	hints chan struct{} // holds one
	heard atomic.Bool   // since it began the last time
}

// Hints sends a hint when a row below a prefix may have changed; see the function of that name.
func (r *Rows) Hints(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return Hints(ctx, func(ctx context.Context, hint func()) error { return r.Watch(ctx, prefix, hint) })
}

// Hints sends the hints of a watch of a driver, under the rules of store.Watcher. An error says why the store cannot be
// watched now. A later failure is followed by a new watch, whose first hint is for what was missed.
func Hints(ctx context.Context, begin func(ctx context.Context, hint func()) error) (<-chan struct{}, error) {
	w := &watch{begin: begin, hints: make(chan struct{}, 1)}
	begun := make(chan error, 1)
	go w.run(ctx, begun)
	if err := <-begun; err != nil {
		return nil, err
	}
	return w.hints, nil
}

// run watches until ctx or the handle ends. It tells once whether it has begun.
func (w *watch) run(ctx context.Context, begun chan<- error) {
	defer close(w.hints)
	var tell sync.Once // drivers hint from several goroutines
	for pause := watchPause; ; pause = min(2*pause, watchPauseMost) {
		w.heard.Store(false)
		err := w.begin(ctx, func() {
			w.hint()
			tell.Do(func() { begun <- nil })
		})
		never := false
		tell.Do(func() { never = true })
		switch {
		case never:
			begun <- err
			return
		case errors.Is(err, store.ErrClosed), ctx.Err() != nil:
			return
		case w.heard.Load():
			pause = watchPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// hint leaves a hint unless one lies there.
func (w *watch) hint() {
	w.heard.Store(true)
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

package stage

import (
	"context"
	"time"
)

// busy is called when there is something to do.
func (w *worker) busy() {
	w.pause, w.idle = shortest, 0
	w.listen(false)
}

// doze waits before the next attempt, each time longer; when nothing has happened for long, until somebody rings.
func (w *worker) doze(ctx context.Context) error {
	if w.rung == nil {
		w.idle += w.pause
		err := w.wait(ctx, w.pause)
		w.pause = min(2*w.pause, longest)
		w.listen(w.idle >= calm && w.flow.Hear != nil) // and looks once more: what happened before is not heard
		return err
	}
	most := deaf
	if !w.quiet {
		most = uneasy
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-w.rung:
		w.busy()
	case <-t.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// listen begins or ends to listen to the bell.
func (w *worker) listen(on bool) {
	switch {
	case on && w.rung == nil:
		w.rung, w.unhear = w.flow.Hear()
	case !on && w.rung != nil:
		w.unhear()
		w.rung, w.unhear = nil, nil
	}
}

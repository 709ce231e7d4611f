package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Driver is a driver with documents.
type Driver interface {
	driver.Driver
	driver.Documents
}

// Rows are the rows of a store. A handle on it has one. It is safe for concurrent use.
type Rows struct {
	Driver
	life  string
	names atomic.Uint64
}

// NewRows makes a handle. No other one, nor one of an earlier process, may have the same life.
func NewRows(d Driver, life string) *Rows { return &Rows{Driver: d, life: life} }

// MaxValue is how many bytes a document or a record may have: a byte of the row says what it holds.
func MaxValue(l driver.Limits) int { return l.Value - 1 }

// NewName is a name that nobody else gives.
func (r *Rows) NewName() string { return fmt.Sprintf("%s.%d", r.life, r.names.Add(1)) }

// Put writes one row, and others with it as driver.Documents does, and settles what became of it. nil: done.
// [*driver.Conflict]: not done, and never will be. [*Doubt]: unknown. Every other error of the driver proves that
// nothing was or will be changed. The op needs a name of [Rows.NewName].
func (r *Rows) Put(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	a := attempt{op: op}
	for {
		v, err := r.Swap(ctx, op, with...)
		next := a.answered(err)
		switch {
		case next == tell && a.lost != nil && err != nil && !errors.Is(err, store.ErrConflict):
			return "", &Doubt{Why: a.lost}
		case next == tell:
			return v, err
		case next == again && ctx.Err() == nil:
			continue
		}
		row, err := r.standing(ctx, op.Key, err)
		if err != nil {
			return "", &Doubt{Why: errors.Join(a.lost, err)}
		}
		return row.Version, a.found(row)
	}
}

// standing is the row at a key: as a conflict has told it, or as it is read.
func (r *Rows) standing(ctx context.Context, key string, err error) (driver.Row, error) {
	var c *driver.Conflict
	if errors.As(err, &c) && c.Row != nil {
		return *c.Row, nil
	}
	return r.Get(ctx, key)
}

// Get reads one row.
func (r *Rows) Get(ctx context.Context, key string) (driver.Row, error) {
	rows, err := r.Read(ctx, driver.Query{Keys: []string{key}})
	if err != nil {
		return driver.Row{}, err
	}
	return rows.Keys[0], nil
}

// Once creates a row that is never written again; if it is there, that is as good. The error proves that it need not be
// there, and no more.
func (r *Rows) Once(ctx context.Context, key string, value []byte) error {
	return r.once(ctx, driver.Op{Key: key, Value: value})
}

// Data is Once of rows that are worth nothing until a later write names them. They are written at the same time.
func (r *Rows) Data(ctx context.Context, ops []driver.Op) error {
	return Together(len(ops), func(i int) error {
		op := ops[i]
		op.Beat = true
		return r.once(ctx, op)
	})
}

// Together makes calls at the same time, and waits for all.
func Together(n int, call func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() { errs[i] = call(i) })
	}
	if n > 0 {
		errs[0] = call(0)
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (r *Rows) once(ctx context.Context, op driver.Op) error {
	op.Name, op.Once = r.NewName(), true
	_, err := r.Put(ctx, op)
	switch {
	case errors.Is(err, store.ErrConflict):
		return nil
	case errors.Is(err, store.ErrUnknown):
		return errors.Join(fmt.Errorf("%w: write %q: no answer", store.ErrUnavailable, op.Key), context.Cause(ctx))
	}
	return err
}

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

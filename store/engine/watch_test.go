package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
)

// broken is a driver whose watches end as they are told to, and which cannot begin one while it is away.
type broken struct {
	Driver
	fail  chan error
	away  atomic.Pointer[error]
	tries atomic.Int64
}

func (b *broken) Watch(ctx context.Context, _ string, hint func()) error {
	b.tries.Add(1)
	if err := b.away.Load(); err != nil {
		return *err
	}
	hint()
	select {
	case err := <-b.fail:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestWatchBeginsAgain: a watch that cannot begin is refused; one that breaks begins again after a pause, with a hint,
// and does not hurry while the store is away. It ends with its ctx, and with the handle.
func TestWatchBeginsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		away := errors.New("away")
		b := &broken{Driver: drivermap.New().Open(), fail: make(chan error)}
		b.away.Store(&away)
		r := NewRows(b, "a")
		if _, err := r.Hints(ctx, "x"); !errors.Is(err, away) {
			t.Errorf("a watch of a store that is away: %v", err)
		}
		b.away.Store(nil)
		hints, err := r.Hints(ctx, "x")
		must.Succeed(t, err)
		<-hints
		for range 3 {
			b.fail <- away
			began := time.Now()
			if _, open := <-hints; !open || time.Since(began) != watchPause {
				t.Errorf("a hint after %v, open: %v", time.Since(began), open)
			}
		}
		b.away.Store(&away)
		b.tries.Store(0)
		b.fail <- away
		time.Sleep(time.Minute) // waits: in virtual time
		synctest.Wait()
		if n := b.tries.Load(); n < 15 || n > 30 {
			t.Errorf("%d tries in a minute", n)
		}
		b.away.Store(nil)
		if _, open := <-hints; !open {
			t.Error("the watch has ended")
		}
		cancel()
		if _, open := <-hints; open {
			t.Error("a watch outlives its ctx")
		}
		hints = must.Get(r.Hints(t.Context(), "x"))(t)
		<-hints
		b.fail <- store.ErrClosed
		if _, open := <-hints; open {
			t.Error("a watch outlives its handle")
		}
	})
}

// TestHintsAtOnce: a driver hints from several goroutines, also when its watch begins.
func TestHintsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	hints, err := Hints(ctx, func(ctx context.Context, hint func()) error {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				for range 100 {
					hint()
				}
			})
		}
		both.Wait()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	must.Succeed(t, err)
	<-hints
	cancel()
	for range hints { // until it ends
	}
}

package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// lasting is a lease of a minute.
type lasting struct{ driver.Lease }

func (lasting) TTL() time.Duration                       { return time.Minute }
func (lasting) Renew(context.Context) (time.Time, error) { return time.Time{}, store.ErrUnavailable }

// TestARenewalThatFails is tried again soon, and ends nothing.
func TestARenewalThatFails(t *testing.T) {
	t.Parallel()
	n := &Session{of: &Sessions{log: slog.New(slog.DiscardHandler)}, ctx: t.Context(), lease: lasting{},
		until: time.Now().Add(time.Minute)}
	if again := n.look(20 * time.Second); again != 2*time.Second {
		t.Errorf("it is tried again after %v", again)
	}
	if _, ok := n.left(); !ok {
		t.Error("the session has ended")
	}
}

// TestAnOldAnswer: answers to renewals that overtake each other do not shorten a session, and none revives one that is
// over.
func TestAnOldAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, now := &Session{lease: lasting{}, until: time.Now().Add(time.Minute)}, time.Now()
		must.Succeed(t, n.renewed(now.Add(30*time.Second)))
		must.Succeed(t, n.renewed(now.Add(20*time.Second)))
		if left, ok := n.left(); !ok || left != 90*time.Second {
			t.Errorf("it lasts for %v, %v", left, ok)
		}
		time.Sleep(90 * time.Second) // waits: in virtual time
		if err := n.renewed(time.Now()); !errors.Is(err, store.ErrSession) {
			t.Errorf("a renewal after the end: %v", err)
		}
	})
}

// TestSessionsAreForgotten: a handle does not keep sessions that are over, and a closed one begins none.
func TestSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	h, ctx := drivermap.New().OpenSeeing(), t.Context()
	s := NewVigils(NewRows(h, "a"), h, slog.New(slog.DiscardHandler))
	must.Succeed(t, must.Get(s.Open(ctx, time.Second))(t).Close(ctx))
	if len(s.open) != 0 {
		t.Errorf("%d sessions are kept", len(s.open))
	}
	s.Close(ctx)
	if _, err := s.Open(ctx, time.Second); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a session of a closed handle: %v", err)
	}
	s.Wait()
}

// rented is a lease of a server that may be away, and forgets leases.
type rented struct {
	lasting
	began time.Time
	ends  atomic.Int32

	mu     sync.Mutex
	server error // what it answers; nil: it has renewed, or ended it
}

type renting struct{ r *rented }

func (l renting) Lease(context.Context, time.Duration) (driver.Lease, error) { return l.r, nil }
func (l renting) EndLease(context.Context, string) error                     { return l.r.says() }

func (r *rented) TTL() time.Duration                       { return time.Second }
func (r *rented) Began() time.Time                         { return r.began }
func (r *rented) Renew(context.Context) (time.Time, error) { return time.Now(), r.says() }
func (r *rented) Close()                                   {}
func (r *rented) End(context.Context) error {
	r.ends.Add(1)
	return r.says()
}

func (r *rented) says() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

func (r *rented) will(say error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = say
}

// TestWhatLivesOnIsEnded: a session whose time is over because the server was away may live on there. To close it does
// not say that it has ended before the server does; what the server has forgotten is not ended again.
func TestWhatLivesOnIsEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server error
		ends   int // requests, with that of the session itself when its time is over
	}{{store.ErrUnavailable, 3}, {store.ErrSession, 0}} {
		synctest.Test(t, func(t *testing.T) {
			r := &rented{began: time.Now()}
			s := NewSessions(NewRows(drivermap.New().Open(), "a"), renting{r}, slog.New(slog.DiscardHandler))
			n := must.Get(s.Open(t.Context(), time.Second))(t)
			r.will(c.server)
			<-n.Done()
			synctest.Wait()
			if err := n.Close(t.Context()); (err == nil) != (c.ends == 0) {
				t.Errorf("closed while the server says %v: %v", c.server, err)
			}
			r.will(nil)
			for range 2 {
				must.Succeed(t, n.Close(t.Context()))
			}
			if s.Wait(); int(r.ends.Load()) != c.ends {
				t.Errorf("%v: %d requests to end it, want %d", c.server, r.ends.Load(), c.ends)
			}
		})
	}
}

// over is a vigil that others have ended.
type over struct {
	driver.Vigil
	ended chan struct{}
	ends  atomic.Int32
}

func (b *over) Ended() <-chan struct{}    { return b.ended }
func (b *over) Close()                    {}
func (b *over) End(context.Context) error { b.ends.Add(1); return store.ErrUnavailable }

// TestWhatOthersHaveEnded is closed without a request, and so without an error where the store is away.
func TestWhatOthersHaveEnded(t *testing.T) {
	t.Parallel()
	h, b := drivermap.New().OpenSeeing(), &over{ended: make(chan struct{})}
	s := NewVigils(NewRows(h, "a"), h, slog.New(slog.DiscardHandler))
	n := must.Get(s.begin(&Session{hold: b}))(t)
	close(b.ended)
	<-n.Done()
	must.Succeed(t, n.Close(t.Context()))
	if s.Wait(); b.ends.Load() != 0 {
		t.Errorf("%d requests to end it", b.ends.Load())
	}
}

// answering is a driver whose first swap is not answered.
type answering struct {
	*drivermap.Handle
	meanwhile func()
	swaps     int
}

func (a *answering) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if a.swaps++; a.swaps == 1 {
		a.meanwhile()
		return "", store.ErrUnknown
	}
	return a.Handle.Swap(ctx, op, with...)
}

// TestWhoHasLeft: nothing is sent again for a caller whose ctx has ended.
func TestWhoHasLeft(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		m := drivermap.New()
		v := must.Get(m.Open().Swap(t.Context(), driver.Op{Key: "k"}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := &answering{Handle: m.Open(), meanwhile: func() {
			if left {
				cancel()
			}
		}}
		r := NewRows(a, "a")
		_, err := r.Put(ctx, driver.Op{Key: "k", Name: r.NewName(), If: v})
		if left != (a.swaps == 1) || left != errors.Is(err, store.ErrUnknown) {
			t.Errorf("left %v: sent %d times, %v", left, a.swaps, err)
		}
	}
}

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
		hints := must.Get(r.Hints(ctx, "x"))(t)
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

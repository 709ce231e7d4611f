package locktest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Full is what a suite needs of a store: the documents, and that a handle can be closed.
type Full interface {
	store.Store
	store.Docs
}

// Open makes an empty store and returns a function that opens a handle on it, as in storetest.
type Open[S Full] func(t *testing.T) func(t *testing.T) S

// patience bounds what a suite waits for. It is long because it is met only by a failure.
const patience = 60 * time.Second

// The TTLs: one that does not pass while the suite runs, and one whose passing is tested. That is much more than a busy
// machine stands still: holders that live must not lose what they hold.
const (
	longTTL  = time.Minute
	shortTTL = 6 * time.Second
)

// bench is one rule's store and what opens clients on it.
type bench struct {
	t     *testing.T
	ctx   context.Context
	open  func(t *testing.T) Full
	clock func() protocol.Instant // of the clients; nil: the default
}

// Run plays on a real server the rules that depend on it: those with many writers at once, and those in which a session
// ends. The other rules are the lock's own, on each store the same: see [RunVirtual].
func Run[S Full](t *testing.T, open Open[S]) {
	each(t, true, func(t *testing.T, rule func(*bench)) { play(t, open, nil, rule) })
}

// RunVirtual is the whole suite in virtual time: each rule runs in a bubble of testing/synctest. The store must do no
// I/O.
func RunVirtual[S Full](t *testing.T, open Open[S]) {
	each(t, false, func(t *testing.T, rule func(*bench)) {
		synctest.Test(t, func(t *testing.T) { play(t, open, protocol.NewProcessClock(), rule) })
	})
}

// each runs every rule, or those for real servers, as a test of its own.
func each(t *testing.T, onServer bool, run func(*testing.T, func(*bench))) {
	for _, r := range []struct {
		name string
		run  func(*bench)
		real bool // on real servers too
	}{
		{"turns", turns, true},
		{"line", line, true},
		{"try", try, false},
		{"giving up", givingUp, false},
		{"release", release, false},
		{"close", closing, false},
		{"semaphore", semaphore, true},
		{"size", size, false},
		{"death", func(b *bench) { death(b, false) }, true},
		{"death without sessions", func(b *bench) { death(b, true) }, true},
		{"dead waiter", deadWaiter, false},
		{"trying after a death", tryAfterDeath, false},
	} {
		if onServer && !r.real {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			run(t, r.run)
		})
	}
}

// play runs one rule on a fresh store.
func play[S Full](t *testing.T, open Open[S], clock func() protocol.Instant, rule func(*bench)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	handle := open(t)
	rule(&bench{t: t, ctx: ctx, open: func(t *testing.T) Full { return handle(t) }, clock: clock})
}

// client is a client with a handle of its own; kill closes the handle, which to others looks like the death of the
// process.
type client struct {
	*lock.Client
	b      *bench
	handle Full
}

func (b *bench) client(o lock.Options) *client {
	b.t.Helper()
	c := &client{b: b, handle: b.open(b.t)}
	o.Clock = b.clock
	var err error
	if c.Client, err = lock.NewClient(c.handle, o); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			b.t.Errorf("close: %v", err)
		}
	})
	return c
}

func (c *client) kill() {
	c.b.t.Helper()
	if err := c.handle.Close(); err != nil {
		c.b.t.Fatalf("close the handle: %v", err)
	}
}

// acquirer is a lock or a semaphore.
type acquirer interface {
	Acquire(ctx context.Context) (*lock.Held, error)
	TryAcquire(ctx context.Context) (*lock.Held, error)
	State(ctx context.Context) (lock.State, error)
}

func (b *bench) acquire(l acquirer) *lock.Held {
	b.t.Helper()
	h, err := l.Acquire(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := h.Err(); err != nil {
		b.t.Fatalf("just acquired: %v", err)
	}
	return h
}

func (b *bench) release(h *lock.Held) {
	b.t.Helper()
	if err := h.Release(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// result is what became of an Acquire that runs beside.
type result struct {
	held *lock.Held
	err  error
}

func (b *bench) beside(ctx context.Context, l acquirer) <-chan result {
	out := make(chan result, 1)
	go func() {
		h, err := l.Acquire(ctx)
		out <- result{h, err}
	}()
	return out
}

func (b *bench) want(out <-chan result) *lock.Held {
	b.t.Helper()
	select {
	case r := <-out:
		if r.err != nil {
			b.t.Fatal(r.err)
		}
		return r.held
	case <-b.ctx.Done():
		b.t.Fatal("not acquired in time")
		return nil
	}
}

// until looks at the state until it is as wanted.
func (b *bench) until(l acquirer, what string, ok func(lock.State) bool) {
	b.t.Helper()
	for {
		s, err := l.State(b.ctx)
		if err != nil {
			b.t.Fatalf("waiting until %s: %v", what, err)
		}
		if ok(s) {
			return
		}
		time.Sleep(10 * time.Millisecond) // waits: between two looks at a condition
	}
}

func (b *bench) waiting(l acquirer, n int) {
	b.t.Helper()
	b.until(l, "so many wait", func(s lock.State) bool { return len(s.Waiting) == n })
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", what, err, want)
	}
}

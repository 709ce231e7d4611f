package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store"
)

// turns: several clients take a lock again and again. One at a time has it, and tokens grow.
func turns(b *bench) {
	const clients, rounds = 4, 6
	var inside atomic.Int32
	var last atomic.Uint64
	var all sync.WaitGroup
	for n := range clients {
		l := b.client(lock.Options{TTL: longTTL, Owner: fmt.Sprint(n)}).Lock("turns")
		all.Go(func() {
			for range rounds {
				err := l.Do(b.ctx, func(_ context.Context, token cluster.Token) error {
					if others := inside.Add(1) - 1; others != 0 {
						return fmt.Errorf("%d others hold it", others)
					}
					if before := last.Swap(uint64(token)); before >= uint64(token) {
						return fmt.Errorf("token %d after %d", token, before)
					}
					inside.Add(-1)
					return nil
				})
				if err != nil {
					b.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if got := last.Load(); got != clients*rounds {
		b.t.Errorf("the last token is %d after %d turns", got, clients*rounds)
	}
}

// line: who came first gets it first.
func line(b *bench) {
	held := b.acquire(b.client(lock.Options{TTL: longTTL}).Lock("a/line"))
	var waiting []<-chan result
	for n := range 4 {
		l := b.client(lock.Options{TTL: longTTL}).Lock("a/line")
		waiting = append(waiting, b.beside(b.ctx, l))
		b.waiting(l, n+1)
	}
	for n, w := range waiting {
		b.release(held)
		next := b.want(w)
		if next.Token() != held.Token()+1 {
			b.t.Fatalf("number %d in the line has token %d after %d", n+1, next.Token(), held.Token())
		}
		held = next
	}
}

// try: taken at once or not at all.
func try(b *bench) {
	x, y := b.client(lock.Options{TTL: longTTL}).Lock("try"), b.client(lock.Options{TTL: longTTL}).Lock("try")
	held, err := x.TryAcquire(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, l := range []lock.Lock{x, y} {
		_, err = l.TryAcquire(b.ctx)
		wantError(b.t, "try while it is held", err, lock.ErrHeld)
	}
	b.waiting(x, 0)
	b.release(held)
	if held, err = y.TryAcquire(b.ctx); err != nil || held.Token() != 2 {
		b.t.Fatalf("try after the release: %v, %v", held, err)
	}
}

// givingUp: who stops waiting leaves nothing behind.
func givingUp(b *bench) {
	held := b.acquire(b.client(lock.Options{TTL: longTTL}).Lock("x"))
	l := b.client(lock.Options{TTL: longTTL}).Lock("x")
	ctx, cancel := context.WithCancelCause(b.ctx)
	out := b.beside(ctx, l)
	b.waiting(l, 1)
	last := b.client(lock.Options{TTL: longTTL}).Lock("x")
	lastOut := b.beside(b.ctx, last)
	b.waiting(l, 2)
	why := errors.New("given up")
	cancel(why)
	wantError(b.t, "acquire after its context was cancelled", (<-out).err, why)
	b.waiting(l, 1)
	b.release(held)
	if h := b.want(lastOut); h.Token() != 2 {
		b.t.Errorf("token %d: somebody held it in between", h.Token())
	}
}

// release: again and again, and from two sides.
func release(b *bench) {
	l := b.client(lock.Options{TTL: longTTL}).Lock("x")
	held := b.acquire(l)
	ctx := held.Context()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := held.Release(b.ctx); err != nil {
				b.t.Error(err)
			}
		})
	}
	both.Wait()
	wantError(b.t, "the context after the release", context.Cause(ctx), lock.ErrReleased)
	wantError(b.t, "held after the release", held.Err(), lock.ErrReleased)
	again := b.acquire(l)
	b.release(held) // does not touch the new one
	if s, err := l.State(b.ctx); err != nil || len(s.Holders) != 1 || again.Err() != nil {
		b.t.Fatalf("%+v, %v, %v", s, err, again.Err())
	}
}

// closing: a client that is closed lets go of all that it holds and waits for.
func closing(b *bench) {
	c := b.client(lock.Options{TTL: longTTL})
	held := b.acquire(c.Lock("x"))
	other := b.client(lock.Options{TTL: longTTL})
	theirs := b.acquire(other.Lock("y"))
	out := b.beside(b.ctx, c.Lock("y"))
	b.waiting(other.Lock("y"), 1)
	if err := c.Close(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	wantError(b.t, "held after the client was closed", held.Err(), lock.ErrClosed)
	wantError(b.t, "waiting when the client was closed", (<-out).err, lock.ErrClosed)
	_, err := c.Lock("z").Acquire(b.ctx)
	wantError(b.t, "acquire by a closed client", err, lock.ErrClosed)
	b.waiting(other.Lock("y"), 0)
	if h := b.acquire(other.Lock("x")); h.Token() != 2 {
		b.t.Errorf("token %d", h.Token())
	}
	b.release(theirs)
}

// semaphore: as many as there are places, each with a token of its own.
func semaphore(b *bench) {
	const places, clients, rounds = 3, 5, 4
	var inside, most atomic.Int32
	var tokens sync.Map
	var all sync.WaitGroup
	for range clients {
		s := b.client(lock.Options{TTL: longTTL}).Semaphore("x", places)
		all.Go(func() {
			for range rounds {
				err := s.Do(b.ctx, func(_ context.Context, token cluster.Token) error {
					n := inside.Add(1)
					defer inside.Add(-1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					if _, twice := tokens.LoadOrStore(token, true); twice {
						return fmt.Errorf("token %d was given twice", token)
					}
					return nil
				})
				if err != nil {
					b.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if most.Load() > places {
		b.t.Errorf("%d held it at once, there are %d places", most.Load(), places)
	}
}

// size: another number of places is refused while it is used, and counts when nobody does.
func size(b *bench) {
	c, other := b.client(lock.Options{TTL: longTTL}), b.client(lock.Options{TTL: longTTL})
	one, two := b.acquire(c.Semaphore("x", 2)), b.acquire(other.Semaphore("x", 2))
	_, err := other.Semaphore("x", 3).Acquire(b.ctx)
	var wrong *lock.SizeError
	if !errors.As(err, &wrong) || wrong.Size != 2 || wrong.Want != 3 {
		b.t.Fatalf("acquire with another size: %v", err)
	}
	_, err = other.Semaphore("x", 2).TryAcquire(b.ctx)
	wantError(b.t, "try a full one", err, lock.ErrHeld)
	b.release(one)
	b.release(two)
	three := b.acquire(other.Semaphore("x", 3))
	if three.Token() != 3 {
		b.t.Errorf("token %d", three.Token())
	}
	b.acquire(c.Lock("x")) // has nothing to do with it
}

// death: the lock of a dead process is free within bounds, under a larger token, and not while the dead one held its
// lease.
func death(b *bench, noSessions bool) {
	o := lock.Options{TTL: shortTTL, NoSessions: noSessions}
	c := b.client(o)
	held := b.acquire(c.Lock("x"))
	next := b.client(o).Lock("x")
	out := b.beside(b.ctx, next)
	b.waiting(next, 1)
	c.kill()
	h := b.want(out)
	if noSessions { // its process lives here, and can be asked
		wantError(b.t, "the dead one, when the next one has it", held.Err(), lock.ErrLost)
	}
	if h.Token() <= held.Token() {
		b.t.Errorf("token %d after %d", h.Token(), held.Token())
	}
	select {
	case <-held.Context().Done():
	case <-b.ctx.Done():
		b.t.Error("the holder never notices that it is dead")
	}
}

// deadWaiter: one who dies in the line does not keep those behind it from the lock.
func deadWaiter(b *bench) {
	o := lock.Options{TTL: shortTTL}
	held := b.acquire(b.client(o).Lock("x"))
	c := b.client(o)
	dead := b.beside(b.ctx, c.Lock("x"))
	last := b.client(o).Lock("x")
	b.waiting(last, 1)
	out := b.beside(b.ctx, last)
	b.waiting(last, 2)
	c.kill()
	if err := (<-dead).err; err == nil {
		b.t.Error("a client whose store was closed has acquired a lock")
	}
	b.release(held)
	b.want(out)
}

// tryAfterDeath: those who only try come to hold the lock of a dead one too.
func tryAfterDeath(b *bench) {
	o := lock.Options{TTL: shortTTL, NoSessions: true}
	c := b.client(o)
	b.acquire(c.Lock("x"))
	other := b.client(o).Lock("x")
	c.kill()
	for doubt := false; ; {
		h, err := other.TryAcquire(b.ctx)
		if err == nil {
			if got := h.Token(); got != 2 && (got < 2 || !doubt) {
				b.t.Errorf("token %d", got)
			}
			return
		}
		if slow := errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrUnavailable); slow &&
			b.ctx.Err() == nil {
			doubt = true // it may have been ours for a moment, under a token that nobody gets again
		} else {
			wantError(b.t, "try", err, lock.ErrHeld)
		}
		time.Sleep(shortTTL / 10) // waits: for the silence of the dead one
	}
}

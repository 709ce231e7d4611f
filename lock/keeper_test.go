package lock_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/memory"
)

// heartbeats are the keys of the heartbeats in the store.
func heartbeatKeys(t *testing.T, s store.Docs) []string {
	t.Helper()
	docs := must.Get(s.List(deadline(t), "lock-pulse/"))(t)
	var keys []string
	for _, d := range docs {
		keys = append(keys, d.Key)
	}
	return keys
}

// TestHeartbeatIsRemoved: a heartbeat is there while something is held, and goes when its client is closed.
func TestHeartbeatIsRemoved(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		for _, heartbeats := range []bool{false, true} {
			server, lists, sessions := memory.New(), new(atomic.Int64), new(atomic.Int64)
			counts := map[string]*atomic.Int64{"list": lists, "session": sessions}
			handle := faults.NewFaulty(server.Open(), func(c faults.Call) faults.Outcome {
				if n := counts[c.Op]; n != nil {
					n.Add(1)
				}
				return faults.Pass
			})
			c := client(t, handle, lock.Options{NoSessions: heartbeats})
			if n := len(heartbeatKeys(t, server.Open())); n != 0 {
				t.Errorf("%d heartbeats before anything was held", n)
			}
			acquire(t, c.Lock("x"))
			if n := len(heartbeatKeys(t, server.Open())); n != 1 {
				t.Errorf("%d heartbeats while something is held", n)
			}
			time.Sleep(5 * time.Minute) // waits: in virtual time
			n, opened := lists.Load(), sessions.Load()
			if heartbeats && (n == 0 || n > 4) || !heartbeats && n+opened != 1 {
				t.Errorf("in thirty TTLs it has opened %d sessions, and listed the heartbeats %d times", opened, n)
			}
			must.Succeed(t, c.Close(deadline(t)))
			if n := len(heartbeatKeys(t, server.Open())); n != 0 {
				t.Errorf("%d heartbeats after the client was closed", n)
			}
		}
	})
}

// TestHeartbeatIsSwept: a heartbeat that nobody needs goes after three TTLs, and then the next lock begins another one;
// and the heartbeat of a dead process is removed within two sweeps, which are ten TTLs apart, by any process that holds
// something else.
func TestHeartbeatIsSwept(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const ttl = 300 * time.Millisecond
		server := memory.New()
		witness := server.Open()
		o := lock.Options{TTL: ttl, NoSessions: true}
		handle := server.Open()
		c := client(t, handle, o)
		held := acquire(t, c.Lock("x"))
		must.Succeed(t, held.Release(deadline(t)))
		await(t, 4*ttl, "the heartbeat that nobody needs is gone",
			func() bool { return len(heartbeatKeys(t, witness)) == 0 })
		acquire(t, c.Lock("y"))
		dead := heartbeatKeys(t, witness)
		if len(dead) != 1 {
			t.Fatalf("heartbeats %q, want one", dead)
		}
		handle.Close()                                             // like kill -9; nobody wants y
		other := acquire(t, client(t, server.Open(), o).Lock("z")) // holding keeps the heartbeat, and with it the sweeps
		await(t, 21*ttl, "the heartbeat of the dead process is gone",
			func() bool { return !slices.Contains(heartbeatKeys(t, witness), dead[0]) })
		if err := other.Err(); err != nil {
			t.Errorf("the sweeper: %v", err)
		}
	})
}

// TestAnIdleHeartbeatStays: it goes three TTLs after its last lock was released, however long that was held; the next
// lock needs no other one.
func TestAnIdleHeartbeatStays(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const ttl = 3 * time.Second
		server := memory.New()
		c := client(t, server.Open(), lock.Options{TTL: ttl, NoSessions: true})
		held := acquire(t, c.Lock("x"))
		time.Sleep(20 * ttl) // waits: in virtual time
		first := heartbeatKeys(t, server.Open())
		must.Succeed(t, held.Release(deadline(t)))
		time.Sleep(2 * ttl) // waits: in virtual time
		acquire(t, c.Lock("x"))
		if now := heartbeatKeys(t, server.Open()); len(first) != 1 || !slices.Equal(now, first) {
			t.Errorf("heartbeat %q, and %q two TTLs after a release", first, now)
		}
	})
}

// TestAnEndedSessionIsHeardOf: the lock is lost when the store says so, not at the next sign of life.
func TestAnEndedSessionIsHeardOf(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := memory.New()
		g := &guard{t: t, watch: server.Open(), opened: make(map[string]store.Session),
			sessions: make(map[string]store.Session)}
		c := client(t, guarded{server.Open(), g}, lock.Options{TTL: time.Hour, Guard: g})
		held := acquire(t, c.Lock("x"))
		for _, s := range g.known() {
			must.Succeed(t, s.Close(deadline(t)))
		}
		synctest.Wait()
		if err := held.Err(); !errors.Is(err, lock.ErrLost) {
			t.Errorf("its session has ended, and the lock says %v", err)
		}
	})
}

// noRoom is a store that has no room for tables.
type noRoom struct{ *memory.Store }

func (s noRoom) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if strings.HasPrefix(d.Key, "locks/") {
		return "", store.ErrTooLarge
	}
	return s.Store.Put(ctx, d)
}

// TestATableThatDoesNotFit: trying again would not help, so it is said at once.
func TestATableThatDoesNotFit(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := client(t, noRoom{memory.New().Open()}, lock.Options{TTL: time.Hour}).Lock("x").Acquire(deadline(t))
		if took := time.Since(began); !errors.Is(err, store.ErrTooLarge) || took > time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestAReleaseAfterTheEnd: a client that was closed while its store was away does not go on for ever to release what it
// held.
func TestAReleaseAfterTheEnd(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		faulty := faults.NewFaulty(memory.New().Open(), nil)
		c := client(t, faulty, lock.Options{TTL: time.Hour})
		held := acquire(t, c.Lock("x"))
		faulty.Away(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if err := held.Release(ctx); !errors.Is(err, lock.ErrClosed) {
			t.Errorf("release: %v", err)
		}
	})
}

// await waits in virtual time until something is so.
func await(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(time.Millisecond) { // waits: in virtual time
		if time.Since(begin) > within {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// guard is a guardian's end in this process. The text of a key is that of the session's document.
type guard struct {
	t        *testing.T
	watch    store.Docs
	mu       sync.Mutex
	opened   map[string]store.Session
	sessions map[string]store.Session // that it knows of
}

// known is a copy of what it knows of.
func (g *guard) known() map[string]store.Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.sessions)
}

func (g *guard) Guard(k store.EndKey) {
	if slices.Contains(heartbeatKeys(g.t, g.watch), k.Text) {
		g.t.Error("the guardian hears of a session that has a document already")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if k != (store.EndKey{}) {
		g.sessions[k.Text] = g.opened[k.Text]
	}
}

func (g *guard) Release(k store.EndKey) {
	if k == (store.EndKey{}) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.sessions[k.Text].Done():
	default:
		if !slices.Contains(heartbeatKeys(g.t, g.watch), k.Text) {
			g.t.Error("a session is closed before the guardian hears of it")
		}
	}
	delete(g.sessions, k.Text)
}

// guarded is a store whose sessions a guardian can end.
type guarded struct {
	*memory.Store
	g *guard
}

func (s guarded) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	session, err := s.Store.OpenSession(ctx, ttl)
	return endable{session, s.g}, err
}

type endable struct {
	store.Session
	g *guard
}

func (s endable) EndKey(docs ...string) store.EndKey {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.g.opened[docs[0]] = s.Session
	return store.EndKey{Text: docs[0]}
}

func (g *guard) State() string { return "on" }

// TestAGuardianFreesLocks: what a process holds is free as soon as its guardian has ended its session, not after its
// TTL; and a guardian has nothing left to end when the client was closed.
func TestAGuardianFreesLocks(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const ttl = time.Minute
		server := memory.New()
		g := &guard{t: t, watch: server.Open(), opened: make(map[string]store.Session),
			sessions: make(map[string]store.Session)}
		c := client(t, guarded{server.Open(), g}, lock.Options{TTL: ttl, Guard: g})
		first := acquire(t, c.Lock("x"))
		other := client(t, server.Open(), lock.Options{TTL: ttl})
		time.Sleep(ttl) // waits: in virtual time, until its clock is past the first pause
		known := g.known()
		if len(known) != 1 {
			t.Fatalf("the guardian knows of %d sessions", len(known))
		}
		start := time.Now()
		for key, s := range known {
			if keys := heartbeatKeys(t, g.watch); len(keys) != 1 || key != keys[0] {
				t.Errorf("the guardian knows of %q, there are %q", key, keys)
			}
			time.AfterFunc(time.Second, func() { must.Succeed(t, s.Close(deadline(t))) }) // as the guardian does for a dead process
		}
		next := acquire(t, other.Lock("x"))
		if waited := time.Since(start); waited > 1100*time.Millisecond || next.Token() != first.Token()+1 {
			t.Errorf("token %d after %v, of a TTL of %v", next.Token(), waited, ttl)
		}
		must.Succeed(t, next.Release(deadline(t)))
		acquire(t, c.Lock("x"))
		must.Succeed(t, c.Close(deadline(t)))
		if n := len(g.known()); n != 0 {
			t.Errorf("the guardian knows of %d sessions of a client that was closed", n)
		}
	})
}

// told is a guardian's end that remembers the newest key.
type told struct{ key store.EndKey }

func (g *told) Guard(k store.EndKey) { g.key = k }
func (*told) Release(store.EndKey)   {}
func (*told) State() string          { return "on" }

// TestAGuardianFreesLocksWithoutSessions: also on a store that has none.
func TestAGuardianFreesLocksWithoutSessions(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const ttl = time.Minute
		m := drivermap.New()
		open := func() *full.Endable {
			s := full.NewEndable(m.Open(), full.Options{})
			t.Cleanup(func() { must.Succeed(t, s.Close()) })
			return s
		}
		g := &told{}
		dead := client(t, open(), lock.Options{TTL: ttl, Guard: g})
		first := acquire(t, dead.Lock("x"))
		must.Succeed(t, open().EndSession(t.Context(), g.key.Text))
		start := time.Now()
		next := acquire(t, client(t, open(), lock.Options{TTL: ttl}).Lock("x"))
		if waited := time.Since(start); waited > ttl/3 || next.Token() != first.Token()+1 {
			t.Errorf("token %d after %v, of a TTL of %v", next.Token(), waited, ttl)
		}
	})
}

// TestASuspendedMachineLosesItsLocks: timers of the process stand still while its machine is suspended, the clock of
// leases does not. What asks right after it woke, before any timer has fired, finds the lock lost, whichever way it
// asks.
func TestASuspendedMachineLosesItsLocks(t *testing.T) {
	for name, lost := range map[string]func(h *lock.Held) bool{
		"Done":        func(h *lock.Held) bool { return closed(h.Context().Done()) },
		"Context.Err": func(h *lock.Held) bool { return h.Context().Err() != nil },
		"Err":         func(h *lock.Held) bool { return errors.Is(h.Err(), lock.ErrLost) },
	} {
		t.Run(name, func(t *testing.T) { virtual.Test(t, func(t *testing.T) { suspend(t, lost) }) })
	}
}

// sleeper is a client with a TTL of 10 s, on a machine that was suspended for so long.
func sleeper(t *testing.T, s store.Docs) (c *lock.Client, slept *atomic.Int64) {
	clock, slept := protocol.NewProcessClock(), new(atomic.Int64)
	return client(t, s, lock.Options{TTL: 10 * time.Second,
		Clock: func() protocol.Instant { return clock().Add(time.Duration(slept.Load())) }}), slept
}

func suspend(t *testing.T, lost func(h *lock.Held) bool) {
	t.Helper()
	c, slept := sleeper(t, memory.New().Open())
	held := acquire(t, c.Lock("x"))
	if lost(held) {
		t.Fatal("lost at once")
	}
	slept.Store(int64(time.Hour))
	if !lost(held) {
		t.Error("held after an hour of suspension")
	}
	if err := held.Err(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("after an hour of suspension: %v, want %v", err, lock.ErrLost)
	}
}

// TestDoUnderTrouble: the error of the work comes before that of a release; closing the client ends the work; a lock is
// released even when the caller's ctx has ended, and when the work panics.
func TestDoUnderTrouble(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server, mine := memory.New(), errors.New("mine")
		faulty := faults.NewFaulty(server.Open(), nil)
		c := client(t, faulty, lock.Options{TTL: time.Minute})
		ctx, giveUp := context.WithCancel(deadline(t))
		if err := c.Lock("x").Do(ctx, func(context.Context, cluster.Token) error { giveUp(); return nil }); err != nil {
			t.Errorf("the work was done: %v", err)
		}
		for _, said := range []error{mine, nil} {
			err := c.Lock("x").Do(deadline(t), func(context.Context, cluster.Token) error { faulty.Away(true); return said })
			if faulty.Away(false); err == nil || said != nil && !errors.Is(err, said) {
				t.Errorf("the work says %v, and Do %v", said, err)
			}
			time.Sleep(time.Minute) // waits: in virtual time, for the release
		}
		func() {
			defer func() { _ = recover() }()
			_ = c.Lock("x").Do(deadline(t), func(context.Context, cluster.Token) error { panic(mine) })
		}()
		err := c.Lock("x").Do(deadline(t), func(ctx context.Context, _ cluster.Token) error {
			go c.Close(deadline(t))
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, lock.ErrClosed) {
			t.Errorf("the client was closed: %v", err)
		}
	})
}

// TestATryEnds after two thirds of the TTL when the store is away.
func TestATryEnds(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		faulty := faults.NewFaulty(memory.New().Open(), nil)
		c, began := client(t, faulty, lock.Options{}), time.Now()
		faulty.Away(true)
		_, err := c.Lock("x").TryAcquire(deadline(t))
		if took := time.Since(began); err == nil || took != 20*time.Second/3 {
			t.Errorf("after %s: %v", took, err)
		}
		faulty.Away(false)
	})
}

// What a function of Do returns is what Do returns; where it returns nothing, that the lock was lost. Who waits with a
// heartbeat that is lost goes on with another one.
func TestALockIsLostInUse(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, mine := memory.New(), errors.New("mine")
		c, slept := sleeper(t, s.Open())
		for _, said := range []error{nil, mine} {
			err := c.Lock("x").Do(deadline(t), func(context.Context, cluster.Token) error {
				slept.Add(int64(time.Hour))
				return said
			})
			if want := cmp.Or(said, lock.ErrLost); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		other := acquire(t, client(t, s.Open(), lock.Options{TTL: 10 * time.Second}).Lock("x"))
		got := make(chan error, 1)
		go func() {
			held, err := c.Lock("x").Acquire(deadline(t))
			if err == nil {
				err = held.Release(deadline(t))
			}
			got <- err
		}()
		time.Sleep(time.Second) // waits: in virtual time
		slept.Add(int64(time.Hour))
		time.Sleep(15 * time.Second) // waits: in virtual time
		must.Succeed(t, other.Release(deadline(t)))
		must.Succeed(t, <-got)
	})
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// lateAnswers is a store that writes one heartbeat, answers late, and takes no other.
type lateAnswers struct {
	store.Docs
	late  time.Duration
	asked time.Time // for the first heartbeat
}

func (s *lateAnswers) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if !strings.HasPrefix(d.Key, "lock-pulse/") {
		return s.Docs.Put(ctx, d)
	}
	if !s.asked.IsZero() {
		return "", store.ErrUnavailable
	}
	s.asked = time.Now()
	v, err := s.Docs.Put(ctx, d)
	time.Sleep(s.late) // waits: virtual time
	return v, err
}

// TestALateAnswerDoesNotProlongTheLease: others may have seen the heartbeat when it was sent, and count from then. So
// it is lost within a TTL of that, however late the answer came.
func TestALateAnswerDoesNotProlongTheLease(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		s := &lateAnswers{Docs: memory.New().Open(), late: 3 * time.Second}
		held := acquire(t, client(t, s, lock.Options{TTL: ttl, NoSessions: true}).Lock("x"))
		<-held.Context().Done()
		if d := time.Since(s.asked); d > ttl || d < ttl/2 {
			t.Errorf("held for %v after its heartbeat was sent, of a TTL of %v", d, ttl)
		}
	})
}

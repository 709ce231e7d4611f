package full

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a map whose rows may be on leases.
type place struct {
	*drivermap.Map

	mu     sync.Mutex
	leases map[string]*lease
	made   int
}

func newPlace() *place { return &place{Map: drivermap.New(), leases: map[string]*lease{}} }

func (p *place) lease(key string) *lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leases[key]
}

// handle is a driver on a place.
type handle struct {
	*drivermap.Handle
	of    *place
	away  atomic.Bool  // no renewal comes through
	slow  atomic.Int64 // each renewal takes so many nanoseconds, and no end comes through, if it is not 0
	opens atomic.Int64 // a lease takes so many nanoseconds to begin
	late  atomic.Int64 // the answer to a write with a lease takes so many nanoseconds, in which no renewal comes through
	reads atomic.Int64
}

// Read counts the requests.
func (h *handle) Read(ctx context.Context, q driver.Query) (driver.Rows, error) {
	h.reads.Add(1)
	return h.Handle.Read(ctx, q)
}

// lease is a lease with the rows that it has written.
type lease struct {
	of      *handle
	key     string
	ttl     time.Duration
	began   time.Time
	timer   *time.Timer
	rows    map[string]driver.Version
	ended   bool
	renewed atomic.Int64
}

func (h *handle) Lease(_ context.Context, ttl time.Duration) (driver.Lease, error) {
	began := time.Now()
	time.Sleep(time.Duration(h.opens.Load())) // waits: in virtual time
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.made++
	l := &lease{of: h, key: fmt.Sprint("lease ", h.of.made), ttl: ttl, began: began, rows: map[string]driver.Version{}}
	l.timer = time.AfterFunc(ttl-time.Since(began), func() { l.over() })
	h.of.leases[l.key] = l
	return l, nil
}

func (h *handle) EndLease(_ context.Context, key string) error {
	l := h.of.lease(key)
	if l == nil {
		return errors.New("no such key")
	}
	l.over()
	return nil
}

// over ends a lease, unless it had ended before; its rows vanish.
func (l *lease) over() (before bool) {
	l.of.of.mu.Lock()
	defer l.of.of.mu.Unlock()
	if l.ended {
		return true
	}
	l.ended = true
	l.timer.Stop()
	other := l.of.of.Open()      // the handle may be closed
	for key, v := range l.rows { // order-free: all vanish
		_, _ = other.Swap(context.Background(), driver.Op{Key: key, If: v, Delete: true})
	}
	return false
}

func (l *lease) TTL() time.Duration { return l.ttl }
func (l *lease) Began() time.Time   { return l.began }
func (l *lease) Key() string        { return l.key }
func (l *lease) Close()             {}

func (l *lease) End(context.Context) error {
	if l.of.slow.Load() == 0 {
		l.over()
	}
	return nil
}

func (l *lease) Renew(ctx context.Context) (time.Time, error) {
	if slow := time.Duration(l.of.slow.Load()); slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
	l.of.of.mu.Lock()
	defer l.of.of.mu.Unlock()
	switch {
	case l.of.away.Load():
		return time.Time{}, store.ErrUnavailable
	case l.ended:
		return time.Time{}, store.ErrSession
	}
	l.renewed.Add(1)
	l.timer.Reset(l.ttl)
	return time.Now(), nil
}

func (l *lease) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	if late := time.Duration(l.of.late.Load()); late > 0 {
		l.of.away.Store(true)
		defer time.Sleep(late) // waits: in virtual time
	}
	l.of.of.mu.Lock()
	defer l.of.of.mu.Unlock()
	if l.ended {
		return "", store.ErrSession
	}
	v, err := l.of.Handle.Swap(ctx, op)
	if err == nil {
		l.rows[op.Key] = v
	}
	return v, err
}

func (p *place) open(t *testing.T) (*Store, *handle) {
	t.Helper()
	h := &handle{Handle: p.Map.Open(), of: p}
	s := New(h, Options{Place: "here"})
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	return s, h
}

func fresh(*testing.T) func(*testing.T) *Store {
	p := newPlace()
	return func(t *testing.T) *Store { s, _ := p.open(t); return s }
}

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }

// TestSessionByItsOwnClock: a session is renewed while nothing is put; one whose renewals do not come through ends
// after its ttl, not earlier, stays so, and its lease is given back; one whose lease was taken ends when it next asks;
// and the time that it took to begin counts.
func TestSessionByItsOwnClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		ctx := t.Context()
		s, h := newPlace().open(t)
		n := must.Get(s.OpenSession(ctx, ttl))(t)
		v := must.Get(n.Put(ctx, store.Doc{Key: "s", Value: []byte("x")}))(t)
		time.Sleep(10 * ttl) // waits: in virtual time
		must.Succeed(t, must.Err(s.Get(ctx, "s")))
		renewed := h.of.lease("lease 1").renewed.Load()
		if renewed < 20 || renewed > 32 {
			t.Errorf("it was renewed %d times in ten times its ttl, want about 20 to 30", renewed)
		}
		before := h.of.lease("lease 1").renewed.Load()
		v = must.Get(n.Put(ctx, store.Doc{Key: "s", Version: v}))(t)
		if after := h.of.lease("lease 1").renewed.Load(); after != before+1 {
			t.Errorf("a put has renewed it %d times, want once", after-before)
		}
		began := time.Now()
		h.of.lease("lease 1").timer.Stop() // by the clock of the store it lives on
		h.away.Store(true)
		<-n.Done()
		if took := time.Since(began); took < ttl || took > ttl+ttl/10 {
			t.Errorf("a session that is not renewed ended after %v, its ttl is %v", took, ttl)
		}
		if synctest.Wait(); !h.of.lease("lease 1").over() {
			t.Error("the lease of a session that has ended was kept")
		}
		h.away.Store(false)
		if _, err := n.Put(ctx, store.Doc{Key: "s", Version: v}); !errors.Is(err, store.ErrSession) {
			t.Errorf("a put after the end: %v", err)
		}
		n = must.Get(s.OpenSession(ctx, ttl))(t)
		h.of.lease("lease 2").over()
		select {
		case <-n.Done():
		case <-time.After(ttl):
			t.Error("a session whose lease was taken goes on")
		}
		began = time.Now()
		h.opens.Store(int64(ttl / 2))
		n = must.Get(s.OpenSession(ctx, ttl))(t)
		h.away.Store(true)
		if <-n.Done(); time.Since(began) > ttl+ttl/10 {
			t.Errorf("a session that took %v to begin lasted %v", ttl/2, time.Since(began))
		}
	})
}

// TestLateRenewal: a session whose time is over stays so, though the store has renewed its lease and its end was lost.
func TestLateRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		s, h := newPlace().open(t)
		n := must.Get(s.OpenSession(t.Context(), ttl))(t)
		h.of.lease("lease 1").timer.Stop() // by the clock of the store it lives on
		h.slow.Store(int64(ttl + time.Second))
		if _, err := n.Put(t.Context(), store.Doc{Key: "s"}); !errors.Is(err, store.ErrSession) {
			t.Errorf("a put whose renewal came too late: %v", err)
		}
		if _, err := s.Get(t.Context(), "s"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what it would have written: %v", err)
		}
	})
}

// TestLateAnswer: a put whose answer comes when the time of its session is over proves nothing.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		s, h := newPlace().open(t)
		n := must.Get(s.OpenSession(t.Context(), ttl))(t)
		h.late.Store(int64(ttl - time.Second))
		v := must.Get(n.Put(t.Context(), store.Doc{Key: "s"}))(t)
		h.away.Store(false)
		h.late.Store(int64(ttl + time.Second))
		if _, err := n.Put(t.Context(), store.Doc{Key: "s", Version: v}); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("a put that was answered after the end: %v", err)
		}
	})
}

// TestForeignRow: what another program wrote is a document with its bytes, and hides no other one.
func TestForeignRow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, h := newPlace().open(t)
	must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: "a/1", Value: []byte("ours")})))
	must.Succeed(t, must.Err(h.Swap(ctx, driver.Op{Key: "d/a/2", Value: []byte("theirs")})))
	docs, err := s.List(ctx, "a/")
	if err != nil || len(docs) != 2 || string(docs[0].Value) != "ours" || string(docs[1].Value) != "theirs" {
		t.Fatalf("listed %+v, %v", docs, err)
	}
	must.Succeed(t, s.Delete(ctx, "a/2", docs[1].Version))
}

// TestReadOnly: nothing is sent for a change.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	h := &handle{Handle: drivermap.New().Open()}
	s := New(h, Options{Place: "here", ReadOnly: true})
	defer s.Close()
	_, put := s.Put(ctx, store.Doc{Key: "a"})
	_, appended := s.Append(ctx, nil)
	_, session := s.OpenSession(ctx, time.Minute)
	_, taken := s.Receive(ctx, "f", store.Receive{Shard: store.Shard{Edge: "e"}, Limit: 1})
	_, committed := s.Commit(ctx, "f", store.Unit{})
	for call, err := range map[string]error{ // order-free: each is judged alone
		"put": put, "append": appended, "open session": session, "delete": s.Delete(ctx, "a", "1"),
		"trim": s.Trim(ctx, 1),
		"save": s.SaveSnapshot(ctx, store.Record{Index: 1}), "seed": s.SeedLog(ctx, 1), "end": s.EndSession(ctx, "x"),
		"receive": taken, "commit": committed, "make": s.MakeFlow(ctx, "f", nil), "drop": s.DropFlow(ctx, "f"),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if h.reads.Load() != 0 {
		t.Error("a refused change has asked the store")
	}
}

// hung is a driver whose leases do not end, and answer no write.
type hung struct{ *handle }

type hungLease struct{ driver.Lease }

func (h hung) Lease(ctx context.Context, ttl time.Duration) (driver.Lease, error) {
	l, err := h.handle.Lease(ctx, ttl)
	return hungLease{l}, err
}

func (hungLease) End(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (hungLease) Swap(ctx context.Context, _ driver.Op) (driver.Version, error) {
	<-ctx.Done()
	return "", fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
}

// TestCloseDoesNotWaitLong for a store that does not answer, though it has sessions to end. What is on its way then may
// yet be done.
func TestCloseDoesNotWaitLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		s := New(hung{&handle{Handle: p.Map.Open(), of: p}}, Options{Place: "here"})
		n := must.Get(s.OpenSession(t.Context(), time.Minute))(t)
		var put error
		var puts sync.WaitGroup
		puts.Go(func() { _, put = n.Put(t.Context(), store.Doc{Key: "a"}) })
		synctest.Wait()
		began := time.Now()
		must.Succeed(t, s.Close())
		if took := time.Since(began); took == 0 || took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		if puts.Wait(); !errors.Is(put, store.ErrUnknown) || errors.Is(put, store.ErrSession) {
			t.Errorf("a write on its way: %v", put)
		}
	})
}

package full

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/storetest"
)

// rowed is a handle whose leases are their rows: a swap renews them, after a while.
type rowed struct {
	*handle
	takes time.Duration
}

type rowLease struct {
	*lease
	of   *rowed
	last time.Time
}

func (r *rowed) Lease(ctx context.Context, ttl time.Duration) (driver.Lease, error) {
	l, err := r.handle.Lease(ctx, ttl)
	return &rowLease{l.(*lease), r, l.Began()}, err
}

func (l *rowLease) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	l.last = time.Now()
	defer time.Sleep(l.of.takes) // waits: in virtual time
	return l.lease.Swap(ctx, op)
}

func (l *rowLease) Renewed() time.Time          { return l.last }
func (l *rowLease) KeyOf(keys ...string) string { return strings.Join(keys, " ") }

// TestRowLease: a put on a lease that is its rows sends no renewal, and renews the session from when it was sent. One
// whose answer comes after the end is unknown. The key of the session names its documents.
func TestRowLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		p := newPlace()
		r := &rowed{&handle{Handle: p.Map.Open(), of: p}, time.Second}
		s := New(r, Options{Place: "here"})
		defer func() { must.Succeed(t, s.Close()) }()
		n, err := s.OpenSession(t.Context(), ttl)
		must.Succeed(t, err)
		if key := n.(store.EndableSession).EndKey("a", "b").Text; key != "d/a d/b" {
			t.Errorf("the key is %q", key)
		}
		p.lease("lease 1").timer.Stop() // by the clock of the store it lives on
		r.away.Store(true)
		time.Sleep(ttl / 3) // waits: in virtual time
		began := time.Now()
		must.Succeed(t, must.Err(n.Put(t.Context(), store.Doc{Key: "a"})))
		<-n.Done()
		if took := time.Since(began); took < ttl || took > ttl+ttl/10 {
			t.Errorf("a session that was renewed by a put ended %v after it, its ttl is %v", took, ttl)
		}
		if renewed := p.lease("lease 1").renewed.Load(); renewed != 0 {
			t.Errorf("%d renewals were sent", renewed)
		}
		r.takes = 2 * ttl
		n = must.Get(s.OpenSession(t.Context(), ttl))(t)
		p.lease("lease 2").timer.Stop()
		if _, err := n.Put(t.Context(), store.Doc{Key: "b"}); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("a put that was answered after the end: %v", err)
		}
	})
}

// seeing counts the heartbeats that its driver gets.
type seeing struct {
	drivermap.Seeing
	beats *atomic.Int64
}

type seen struct {
	driver.Vigil
	beats *atomic.Int64
}

func (s seeing) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	v, err := s.Seeing.Vigil(ctx, ttl)
	return seen{v, s.beats}, err
}

func (s seen) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	if op.Beat {
		s.beats.Add(1)
	}
	return s.Vigil.Swap(ctx, op)
}

func openSeeing(t *testing.T, m *drivermap.Map) (*Store, *atomic.Int64) {
	t.Helper()
	var beats atomic.Int64
	s := NewVigilant(seeing{m.OpenSeeing(), &beats}, Options{Place: "here"})
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	return s, &beats
}

// TestSessionsWithoutTime runs the suite of sessions on vigils.
func TestSessionsWithoutTime(t *testing.T) {
	t.Parallel()
	storetest.Sessions(t, func(*testing.T) func(*testing.T) *Store {
		m := drivermap.New()
		return func(t *testing.T) *Store { s, _ := openSeeing(t, m); return s }
	})
}

// TestVigil: a session without a lease is told of its end, and only its renewals are heartbeats.
func TestVigil(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), drivermap.New()
	s, beats := openSeeing(t, m)
	other, _ := openSeeing(t, m)
	if s.SessionsExpire() {
		t.Error("sessions expire")
	}
	n := must.Get(s.OpenSession(ctx, time.Nanosecond))(t)
	v := must.Get(n.Put(ctx, store.Doc{Key: "s"}))(t)
	if got := beats.Load(); got != 0 {
		t.Errorf("%d heartbeats after a put", got)
	}
	must.Succeed(t, must.Err(store.Renew(ctx, n, store.Doc{Key: "s", Version: v})))
	if got := beats.Load(); got != 1 {
		t.Errorf("%d heartbeats after a renewal", got)
	}
	must.Succeed(t, other.EndSession(ctx, n.(store.EndableSession).EndKey("s").Text))
	<-n.Done()
	if _, err := n.Put(ctx, store.Doc{Key: "late"}); !errors.Is(err, store.ErrSession) {
		t.Errorf("put after the end: %v", err)
	}
	for _, key := range []string{"s", "late"} {
		if _, err := other.Get(ctx, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q after the end: %v", key, err)
		}
	}
	if err := other.EndSession(ctx, ""); err == nil {
		t.Error("a session without a key was ended")
	}
}

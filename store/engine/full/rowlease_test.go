package full

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
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
		_, err = n.Put(t.Context(), store.Doc{Key: "a"})
		must.Succeed(t, err)
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

package full

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/storetest"
)

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

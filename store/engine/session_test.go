package engine

import (
	"context"
	"errors"
	"log/slog"
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

func (lasting) TTL() time.Duration { return time.Minute }

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

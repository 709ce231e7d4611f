package full_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/storetest"
)

func freshEndable(*testing.T) func(*testing.T) *full.Endable {
	m := drivermap.New()
	return func(t *testing.T) *full.Endable {
		s := full.NewEndable(cut{polled{m.Open(), pass}}, full.Options{Place: "here"})
		t.Cleanup(func() { must.Succeed(t, s.Close()) })
		return s
	}
}

func TestEndable(t *testing.T) {
	t.Parallel()
	storetest.Docs(t, freshEndable)
}

// TestALateCreateComesToNothing: also where its document was not there yet when the guardian came; and the tombstones
// that refuse it are freed when nothing can be on its way any more.
func TestALateCreateComesToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ctx := drivermap.New(), t.Context()
		dead := full.NewEndable(polled{m.Open(), pass}, full.Options{Place: "here"})
		guardian := full.NewEndable(polled{m.Open(), pass}, full.Options{Place: "here"})
		other := full.NewEndable(polled{m.Open(), pass}, full.Options{Place: "here"})
		other.EndKey("pulse/b/1")
		for _, key := range []string{"", "life pulse/a/1", "pulse/a/1"} {
			if err := guardian.EndSession(ctx, key); err == nil {
				t.Errorf("the key %q, of another kind of store, was taken", key)
			}
		}
		must.Succeed(t, guardian.EndSession(ctx, dead.EndKey("pulse/a/1").Text))
		if _, err := dead.Put(ctx, store.Doc{Key: "pulse/a/1"}); !errors.Is(err, store.ErrSession) {
			t.Errorf("a late create: %v", err)
		}
		later := store.Doc{Key: "pulse/a/2"} // of another handle, whatever its key
		v := must.Get(other.Put(ctx, later))(t)
		must.Succeed(t, guardian.EndSession(ctx, dead.EndKey(later.Key).Text))
		must.Succeed(t, other.Delete(ctx, later.Key, v))
		must.Succeed(t, errors.Join(dead.Close(), guardian.Close()))
		rows := func() int {
			r := must.Get(m.Open().Read(ctx, driver.Query{From: "d/pulse/", To: "d/pulse0", Limit: 9}))(t)
			return len(r.Range)
		}
		time.Sleep(2*engine.Quiet - time.Second)
		if n := rows(); n != 1 {
			t.Errorf("%d tombstones before their time", n)
		}
		time.Sleep(2 * time.Second)
		if n := rows(); n != 0 {
			t.Errorf("%d tombstones are left", n)
		}
		must.Succeed(t, other.Close())
	})
}

// stuck is a driver that answers no read, until it may no more.
type stuck struct{ polled }

func (stuck) Read(ctx context.Context, _ driver.Query) (driver.Rows, error) {
	<-ctx.Done()
	return driver.Rows{}, ctx.Err()
}

// TestWhyACallEnds: a call that is under way tells why its ctx has ended, or that the handle was closed.
func TestWhyACallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := full.NewBare(stuck{polled{drivermap.New().Open(), pass}}, full.Options{Place: "here"})
		cause := errors.New("no time")
		ctx, cancel := context.WithCancelCause(t.Context())
		var impatient, closed error
		var calls sync.WaitGroup
		calls.Go(func() { _, impatient = s.Get(ctx, "a") })
		calls.Go(func() { _, closed = s.Get(t.Context(), "a") })
		synctest.Wait()
		cancel(cause)
		synctest.Wait()
		must.Succeed(t, s.Close())
		calls.Wait()
		if !errors.Is(impatient, cause) || !errors.Is(closed, store.ErrClosed) ||
			errors.Is(impatient, store.ErrClosed) {
			t.Errorf("whose ctx ended: %v; whose handle was closed: %v", impatient, closed)
		}
	})
}

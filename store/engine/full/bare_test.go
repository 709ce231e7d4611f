package full_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/storetest"
)

// polled is a driver of a search engine: it writes one row at a time, and hints at nothing.
type polled struct {
	*drivermap.Handle
	request func() error // before each request
}

func (p polled) Limits() driver.Limits {
	most := p.Handle.Limits()
	most.With, most.Range = 0, driver.Late
	return most
}

func (p polled) Read(ctx context.Context, q driver.Query) (driver.Rows, error) {
	if err := p.request(); err != nil {
		return driver.Rows{}, err
	}
	return p.Handle.Read(ctx, q)
}

func (p polled) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if err := p.request(); err != nil {
		return "", err
	}
	return p.Handle.Swap(ctx, op, with...)
}

func (polled) Watch(context.Context, string, func()) error { return errors.ErrUnsupported }

func pass() error { return nil }

// cut is a polled that cuts ranges short, and whose stale reads find no row by its key.
type cut struct{ polled }

func (c cut) Read(ctx context.Context, q driver.Query) (driver.Rows, error) {
	q.Limit = min(q.Limit, 3)
	rows, err := c.polled.Read(ctx, q)
	for i := range rows.Keys {
		if q.Stale {
			rows.Keys[i] = driver.Row{Key: rows.Keys[i].Key}
		}
	}
	return rows, err
}

func freshBare(*testing.T) func(*testing.T) *full.Bare {
	m := drivermap.New()
	return func(t *testing.T) *full.Bare {
		s := full.NewBare(cut{polled{m.Open(), pass}}, full.Options{Place: "here"})
		t.Cleanup(func() { must.Succeed(t, s.Close()) })
		return s
	}
}

func TestBare(t *testing.T) {
	t.Parallel()
	t.Run("docs", func(t *testing.T) { storetest.Docs(t, freshBare) })
	t.Run("get many", func(t *testing.T) { storetest.GetMany(t, freshBare) })
	t.Run("log", func(t *testing.T) { storetest.Log(t, freshBare) })
	t.Run("seed", func(t *testing.T) { storetest.Seed(t, freshBare) })
	t.Run("queue", func(t *testing.T) { storetest.Queue(t, freshBare); storetest.QueueJoins(t, freshBare) })
}

// TestBareClaims: a bare store says of itself that it has neither watches nor sessions, and its deletes leave nothing.
func TestBareClaims(t *testing.T) {
	t.Parallel()
	m := drivermap.New()
	s := full.NewBare(polled{m.Open(), pass}, full.Options{Place: "here"})
	var claims any = s
	_, watches := claims.(store.Watcher)
	_, watchesLog := claims.(store.LogWatcher)
	_, sessions := claims.(store.Sessions)
	if watches || watchesLog || sessions {
		t.Errorf("watches %v, of the log %v, sessions %v", watches, watchesLog, sessions)
	}
	v, err := s.Put(t.Context(), store.Doc{Key: "a"})
	must.Succeed(t, errors.Join(err, s.Delete(t.Context(), "a", v)))
	rows, err := m.Open().Read(t.Context(), driver.Query{From: "d/", To: "d0", Limit: 1})
	if err != nil || len(rows.Range) > 0 {
		t.Errorf("after a delete there is %+v, %v", rows.Range, err)
	}
	must.Succeed(t, s.Close())
	must.Succeed(t, s.Close())
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
}

// TestStoriesOfPolled runs the stories of a protocol on a log that nothing tells of, in virtual time.
func TestStoriesOfPolled(t *testing.T) {
	t.Parallel()
	open := func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		m, clock := drivermap.New(), protocol.NewProcessClock()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			t.Helper()
			var away atomic.Bool
			s := full.NewBare(polled{m.Open(), func() error {
				if away.Load() {
					return store.ErrUnavailable
				}
				return nil
			}}, full.Options{Place: "here"})
			p, err := replica.Protocol{}.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20,
				Clock: clock})
			must.Succeed(t, err)
			return protocoltest.Handle{Member: p, Clock: clock, Crash: func() { _ = s.Close() }, Away: away.Store}
		}
	}
	protocoltest.Run(t, protocoltest.Setup{Virtual: true, TTL: 2 * time.Second, Many: 10, Open: open})
}

// TestIdleMembersAskSeldom counts the requests of 40 members that have nothing to do, at a TTL of 10 s, in virtual
// time.
func TestIdleMembersAskSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members, least, most = 40, 80, 120
		perSecond := idle(t, members)
		t.Logf("%.0f requests a second", perSecond)
		if perSecond < least || perSecond >= most {
			t.Errorf("%.1f requests a second, want at least %d and less than %d", perSecond, least, most)
		}
	})
}

// idle is how many requests members make in a second once all have joined.
func idle(t *testing.T, members int) float64 {
	t.Helper()
	var requests atomic.Int64
	m, clock := drivermap.New(), protocol.NewProcessClock()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var joined []protocol.Member
	for i := range members {
		s := full.NewBare(polled{m.Open(), func() error {
			requests.Add(1)
			time.Sleep(2 * time.Millisecond) // waits: in virtual time
			return nil
		}}, full.Options{Place: "here"})
		id := cluster.MemberID(fmt.Sprint("m", i))
		p, err := replica.Protocol{}.New(protocol.Config{Member: id, Store: s, TTL: 10 * time.Second,
			LeaveTimeout: time.Minute, Clock: clock})
		must.Succeed(t, err)
		joined = append(joined, p)
		all.Go(func() { _ = p.Run(ctx) })
		for !p.Status().Joined {
			time.Sleep(100 * time.Millisecond) // waits: in virtual time
		}
	}
	time.Sleep(30 * time.Second) // waits: in virtual time, until all is quiet
	const span = time.Minute
	before := requests.Load()
	time.Sleep(span) // waits: in virtual time
	count := float64(requests.Load()-before) / span.Seconds()
	for _, p := range joined {
		if s := p.Status(); !s.Joined || s.StoreError != "" {
			t.Errorf("a member has not joined, or has no store: %+v", s)
		}
	}
	stop()
	all.Wait()
	return count
}

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
		var requests atomic.Int64
		other := full.NewEndable(polled{m.Open(), func() error { requests.Add(1); return nil }},
			full.Options{Place: "here"})
		other.EndKey("locks/y", "pulse/b/1")
		other.EndKey("locks/y", "pulse/b/1")
		for _, key := range []string{"", "life pulse/a/1", "pulse/a/1"} {
			if err := guardian.EndSession(ctx, key); err == nil {
				t.Errorf("the key %q, of another kind of store, was taken", key)
			}
		}
		must.Succeed(t, guardian.EndSession(ctx, dead.EndKey("locks/x", "pulse/a/1").Text))
		for _, key := range []string{"locks/x", "pulse/a/1"} {
			if _, err := dead.Put(ctx, store.Doc{Key: key}); !errors.Is(err, store.ErrSession) {
				t.Errorf("a late create of %s: %v", key, err)
			}
		}
		later := store.Doc{Key: "pulse/a/2"} // of another handle, whatever its key
		v := must.Get(other.Put(ctx, later))(t)
		must.Succeed(t, guardian.EndSession(ctx, dead.EndKey(later.Key).Text))
		must.Succeed(t, other.Delete(ctx, later.Key, v))
		must.Succeed(t, errors.Join(dead.Close(), guardian.Close()))
		rows := func() int {
			r := must.Get(m.Open().Read(ctx, driver.Query{From: "d/", To: "d0", Limit: 9}))(t)
			return len(r.Range)
		}
		time.Sleep(2*engine.Quiet - time.Second)
		if n := rows(); n != 2 {
			t.Errorf("%d tombstones before their time", n)
		}
		time.Sleep(2 * time.Second)
		if n := rows(); n != 0 {
			t.Errorf("%d tombstones are left", n)
		}
		before := requests.Load()
		time.Sleep(10 * engine.Quiet)
		if n := requests.Load() - before; n != 20 {
			t.Errorf("%d requests for ten looks at two folders", n)
		}
		must.Succeed(t, other.Close())
	})
}

// stuck is a driver that answers no read, until it may no more.
type stuck struct {
	polled
	calls *sync.WaitGroup
	made  *atomic.Int64
}

func (s stuck) Read(ctx context.Context, _ driver.Query) (driver.Rows, error) {
	s.made.Add(1)
	s.calls.Add(1)
	defer s.calls.Done()
	<-ctx.Done()
	return driver.Rows{}, ctx.Err()
}

// Close waits for what is under way, as drivers do.
func (s stuck) Close() error {
	s.calls.Wait()
	return s.polled.Close()
}

// TestWhyACallEnds: a call that is under way tells why its ctx has ended, or that the handle was closed. One whose ctx
// has ended before is not made.
func TestWhyACallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under sync.WaitGroup
		var made atomic.Int64
		s := full.NewBare(stuck{polled{drivermap.New().Open(), pass}, &under, &made}, full.Options{Place: "here"})
		cause := errors.New("no time")
		over, end := context.WithCancelCause(t.Context())
		end(cause)
		if _, err := s.Get(over, "a"); !errors.Is(err, cause) || made.Load() != 0 {
			t.Errorf("a call whose ctx had ended: %v, %d requests", err, made.Load())
		}
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

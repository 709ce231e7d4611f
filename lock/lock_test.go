package lock_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what only a failure waits for; in virtual time.
const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// client is a client whose clock reads the time of the bubble.
func client(t testing.TB, s store.Docs, o lock.Options) *lock.Client {
	t.Helper()
	if o.Clock == nil {
		o.Clock = protocol.NewProcessClock()
	}
	c := must.Get(lock.NewClient(s, o))(t)
	t.Cleanup(func() {
		if err := c.Close(deadline(t)); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// acquire takes a lock that must be had within patience.
func acquire(t *testing.T, l lock.Lock) *lock.Held {
	t.Helper()
	h := must.Get(l.Acquire(deadline(t)))(t)
	return h
}

func doc(key string, value []byte) store.Doc { return store.Doc{Key: key, Value: value} }

// args are arguments of a function.
type args struct {
	Lock lock.Lock
	Semi lock.Semaphore
}

// TestText: locks go through JSON as their names, and are bound again on the other side.
func TestText(t *testing.T) {
	t.Parallel()
	server := memory.New()
	here, there := client(t, server.Open(), lock.Options{}), must.Get(lock.NewClient(server.Open(), lock.Options{}))(t)
	defer there.Close(deadline(t))
	data, err := json.Marshal(args{here.Lock("a/b"), here.Semaphore("c", 3)})
	if err != nil || string(data) != `{"Lock":"a/b","Semi":"c*3"}` {
		t.Fatalf("%s, %v", data, err)
	}
	var a args
	must.Succeed(t, json.Unmarshal(data, &a))
	if _, err := a.Lock.Acquire(deadline(t)); err == nil || !strings.Contains(err.Error(), "use On") {
		t.Errorf("acquire what is bound to nothing: %v", err)
	}
	must.Succeed(t, must.Err(here.Lock("a/b").Acquire(deadline(t))))
	if _, err := a.Lock.On(there).TryAcquire(deadline(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("it is another lock: %v", err)
	}
	if data, err := json.Marshal(here.Semaphore("c", 0)); err == nil {
		t.Errorf("no places are written as %s", data)
	}
	if h, err := a.Semi.On(there).TryAcquire(deadline(t)); err != nil || h.Token() != 1 {
		t.Errorf("%v, %v", h, err)
	}
	for _, bad := range []string{`{"Semi":"c"}`, `{"Semi":"c*0"}`, `{"Semi":"c*1001"}`, `{"Semi":"*3"}`, `{"Lock":""}`,
		`{"Lock":"a b"}`} {
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// TestForeignDocument: what this package did not write is refused and stays.
func TestForeignDocument(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	foreign := []byte("not ours")
	v := must.Get(s.Put(deadline(t), doc("locks/x/table", foreign)))(t)
	if _, err := client(t, s, lock.Options{}).Lock("x").Acquire(deadline(t)); err == nil ||
		!strings.Contains(err.Error(), "locks/x/table") {
		t.Errorf("acquire: %v", err)
	}
	if d, err := s.Get(deadline(t), "locks/x/table"); err != nil || d.Version != v {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestSuite plays the suite in virtual time. The tests of each store play a part of it in real time.
func TestSuite(t *testing.T) {
	t.Parallel()
	locktest.RunVirtual(t, func(*testing.T) func(*testing.T) *memory.Store {
		server := memory.New()
		return func(t *testing.T) *memory.Store {
			s := server.Open()
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}

// TestGivenUpInDoubt: one waits whose writes have unknown outcomes, and gives up. Nothing of it is left, and nothing
// comes later.
func TestGivenUpInDoubt(t *testing.T) {
	for _, script := range []string{
		"late put key=locks/x/table times=1",
		"lose-reply put key=locks/x/table times=1",
		"lose-request put key=locks/x/table times=1",
		"late put key=locks/x/table times=3",
		"late put key=locks/x/table after=1 times=1",
		"lose-reply put key=locks/x/table after=1 times=1",
		"refuse put key=locks/x/table after=1 times=2",
		"hold put key=locks/x/table times=1",
		"late put key=lock-pulse/*/alive times=1\nlose-reply put key=locks/x/table times=1",
		"late sessionput times=1\nlate put key=locks/x/table times=1",
	} {
		t.Run(script, func(t *testing.T) { virtual.Test(t, func(t *testing.T) { giveUpInDoubt(t, script) }) })
	}
}

func giveUpInDoubt(t *testing.T, script string) {
	t.Helper()
	plan := must.Get(faults.Script(script))(t)
	server, ctx := memory.New(), deadline(t)
	first := client(t, server.Open(), lock.Options{}).Lock("x")
	held := must.Get(first.Acquire(ctx))(t)
	faulty := faults.NewFaulty(server.Open(), plan)
	t.Cleanup(faulty.Release)
	c := client(t, faulty, lock.Options{})
	waiting, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Lock("x").Acquire(waiting)
		ended <- err
	}()
	wantFault(t, faulty, first)
	why := errors.New("given up")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Fatalf("acquire: %v", err)
	}
	if err := c.Close(ctx); err != nil { // returns when everything is cleared up
		t.Fatal(err)
	}
	for _, when := range []string{"before", "after"} {
		if s, err := first.State(ctx); err != nil || len(s.Holders) != 1 || len(s.Waiting) != 0 {
			t.Fatalf("%s the late writes came: %+v, %v", when, s, err)
		}
		faulty.Release()
	}
	must.Succeed(t, held.Release(ctx))
	if s, err := first.State(ctx); err != nil || len(s.Holders) != 0 {
		t.Fatalf("after the release: %+v, %v", s, err)
	}
}

// wantFault returns when all calls of the claim have ended or wait, and wants that one has failed, or that the claim is
// in the line.
func wantFault(t *testing.T, faulty *faults.Faulty, l lock.Lock) {
	t.Helper()
	synctest.Wait()
	for _, o := range []faults.Outcome{faults.Refused, faults.LostRequest, faults.LostReply, faults.Late, faults.Held} {
		if faulty.Count(o) > 0 {
			return
		}
	}
	if s, err := l.State(deadline(t)); err != nil || len(s.Waiting) != 1 {
		t.Fatalf("no call has failed, and the line is %+v, %v", s, err)
	}
}

// TestReleaseInDoubt: releasing is certain when it returns nil, whatever the answers were.
func TestReleaseInDoubt(t *testing.T) {
	for _, script := range []string{
		"lose-reply put key=locks/x/table after=1 times=1", "lose-request put key=locks/x/table after=1 times=2",
		"late put key=locks/x/table after=1 times=1",
		"refuse put key=locks/x/table after=1 times=2",
		"refuse get key=locks/x/table after=1 times=2\nlose-reply put key=locks/x/table after=1 times=1",
	} {
		t.Run(script, func(t *testing.T) { virtual.Test(t, func(t *testing.T) { releaseInDoubt(t, script) }) })
	}
}

func releaseInDoubt(t *testing.T, script string) {
	t.Helper()
	plan := must.Get(faults.Script(script))(t)
	server, ctx := memory.New(), deadline(t)
	faulty := faults.NewFaulty(server.Open(), plan)
	l := client(t, faulty, lock.Options{}).Lock("x")
	held := must.Get(l.Acquire(ctx))(t)
	must.Succeed(t, held.Release(ctx))
	faulty.Release()
	next, err := client(t, server.Open(), lock.Options{}).Lock("x").TryAcquire(ctx)
	if err != nil || next.Token() != held.Token()+1 {
		t.Fatalf("%v, %v", next, err)
	}
	if err := held.Release(ctx); err != nil || next.Err() != nil {
		t.Errorf("released again: %v, %v", err, next.Err())
	}
}

// TestAReleaseGoesOn: one that could not be confirmed in time is made in the background, while the heartbeat of its
// process lives on.
func TestAReleaseGoesOn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := memory.New()
		faulty := faults.NewFaulty(server.Open(), nil)
		here := client(t, faulty, lock.Options{TTL: time.Hour})
		held := acquire(t, here.Lock("x"))
		faulty.Away(true)
		ctx, cancel := context.WithTimeout(deadline(t), time.Second)
		defer cancel()
		if err := held.Release(ctx); err == nil {
			t.Error("a release that nobody has heard of succeeds")
		}
		if s, err := here.Lock("x").State(ctx); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the state of what cannot be read is %+v, %v", s, err)
		}
		faulty.Away(false)
		acquire(t, client(t, server.Open(), lock.Options{}).Lock("x"))
		faulty.SetPlan(must.Get(faults.Script("hold put key=locks/y/table after=1 times=1"))(t))
		held, got := acquire(t, here.Lock("y")), make(chan error, 1)
		go func() { got <- held.Release(deadline(t)) }()
		synctest.Wait()
		if err := held.Release(ctx); err == nil {
			t.Error("it is released while another one still releases it")
		}
		faulty.Release()
		must.Succeed(t, <-got)
	})
}

// TestWhyItWaits: the error of an Acquire that gives up holds the last error of the store.
func TestWhyItWaits(t *testing.T) {
	for _, script := range []string{"refuse put key=lock-pulse/*/alive", "refuse get key=lock-pulse/*/alive",
		"refuse get key=locks/x/table", "refuse put key=locks/x/table"} {
		t.Run(script, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				server := memory.New()
				acquire(t, client(t, server.Open(), lock.Options{}).Lock("x"))
				faulty := faults.NewFaulty(server.Open(), must.Get(faults.Script(script))(t))
				ctx, cancel := context.WithTimeout(t.Context(), 4999*time.Millisecond) // between two looks
				defer cancel()
				_, err := client(t, faulty, lock.Options{NoSessions: true}).Lock("x").Acquire(ctx)
				if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				faulty.SetPlan(nil)
			})
		})
	}
}

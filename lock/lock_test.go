package lock_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
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
	o.Clock = protocol.NewProcessClock()
	c, err := lock.NewClient(s, o)
	must.Succeed(t, err)
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
	h, err := l.Acquire(deadline(t))
	must.Succeed(t, err)
	return h
}

func BenchmarkAcquireMemory(b *testing.B) {
	c := client(b, memory.New().Open(), lock.Options{})
	l := c.Lock("x")
	for b.Loop() {
		h, err := l.Acquire(context.Background())
		must.Succeed(b, err)
		must.Succeed(b, h.Release(context.Background()))
	}
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
	here, there := client(t, server.Open(), lock.Options{}), client(t, server.Open(), lock.Options{})
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
	if _, err := a.Lock.On(there).TryAcquire(deadline(t)); err == nil {
		t.Error("it is another lock")
	}
	if h, err := a.Semi.On(there).TryAcquire(deadline(t)); err != nil || h.Token() != 1 {
		t.Errorf("%v, %v", h, err)
	}
	for _, bad := range []string{`{"Semi":"c"}`, `{"Semi":"c*0"}`, `{"Semi":"c*1001"}`, `{"Semi":"*3"}`, `{"Lock":""}`, `{"Lock":"a b"}`} {
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
	v, err := s.Put(deadline(t), doc("locks/x/table", foreign))
	must.Succeed(t, err)
	if _, err := client(t, s, lock.Options{}).Lock("x").Acquire(deadline(t)); err == nil || !strings.Contains(err.Error(), "locks/x/table") {
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

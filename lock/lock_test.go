package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what only a failure waits for; in virtual time.
const patience = 60 * time.Second

// bubble runs a test in virtual time, next to others.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

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

func TestHandOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server, ctx := memory.New(), deadline(t)
		a, b := client(t, server.Open(), lock.Options{}), client(t, server.Open(), lock.Options{})
		first := acquire(t, a.Lock("x"))
		if _, err := b.Lock("x").TryAcquire(ctx); !errors.Is(err, lock.ErrHeld) {
			t.Fatalf("try: %v", err)
		}
		got := make(chan *lock.Held)
		go func() {
			h, err := b.Lock("x").Acquire(ctx)
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		must.Succeed(t, first.Release(ctx))
		second := <-got
		if first.Token() >= second.Token() || first.Err() == nil || second.Err() != nil {
			t.Errorf("%d then %d, %v, %v", first.Token(), second.Token(), first.Err(), second.Err())
		}
	})
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

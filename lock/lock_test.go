package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func client(t testing.TB, s store.Docs, o lock.Options) *lock.Client {
	t.Helper()
	c, err := lock.NewClient(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(deadline(t)); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	server, ctx := memory.New(), deadline(t)
	a, b := client(t, server.Open(), lock.Options{}), client(t, server.Open(), lock.Options{})
	first, err := a.Lock("x").Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	second := <-got
	if first.Token() >= second.Token() || first.Err() == nil || second.Err() != nil {
		t.Errorf("%d then %d, %v, %v", first.Token(), second.Token(), first.Err(), second.Err())
	}
}

func BenchmarkAcquireMemory(b *testing.B) {
	c := client(b, memory.New().Open(), lock.Options{})
	l := c.Lock("x")
	for b.Loop() {
		h, err := l.Acquire(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Release(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

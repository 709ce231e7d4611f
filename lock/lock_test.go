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

func doc(key string, value []byte) store.Doc { return store.Doc{Key: key, Value: value} }

func BenchmarkAcquireFile(b *testing.B) {
	l := client(b, openFile(b, b.TempDir()), lock.Options{}).Lock("x")
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

// BenchmarkHandOver is the time from the call of Release by one process until another one holds the lock.
func BenchmarkHandOver(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		server := memory.New()
		handOver(b, server.Open(), server.Open())
	})
	b.Run("file", func(b *testing.B) {
		dir := b.TempDir()
		handOver(b, openFile(b, dir), openFile(b, dir))
	})
}

func handOver(b *testing.B, one, two store.Docs) {
	locks := [2]lock.Lock{client(b, one, lock.Options{}).Lock("x"), client(b, two, lock.Options{}).Lock("x")}
	ctx := deadline(b)
	held, err := locks[0].Acquire(ctx)
	if err != nil {
		b.Fatal(err)
	}
	var total time.Duration
	turns := 0
	for b.Loop() {
		turns++
		next := make(chan *lock.Held, 1)
		go func() {
			h, err := locks[turns%2].Acquire(ctx)
			if err != nil {
				b.Error(err)
			}
			next <- h
		}()
		for waits := false; !waits; time.Sleep(20 * time.Microsecond) { // waits: until the other one stands in the line
			s, err := locks[0].State(ctx)
			if err != nil {
				b.Fatal(err)
			}
			waits = len(s.Waiting) == 1
		}
		from := time.Now()
		if err := held.Release(ctx); err != nil {
			b.Fatal(err)
		}
		if held = <-next; held == nil {
			b.FailNow()
		}
		total += time.Since(from)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(turns), "µs/handover")
}

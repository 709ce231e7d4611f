package locks_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func BenchmarkAcquireFile(b *testing.B) {
	l := client(b, openFile(b, filepath.Join(b.TempDir(), "store")), lock.Options{}).Lock("x")
	for b.Loop() {
		h, err := l.Acquire(context.Background())
		must.Succeed(b, err)
		must.Succeed(b, h.Release(context.Background()))
	}
}

// BenchmarkHandOver is the time from the call of Release by one process until another one holds the lock.
func BenchmarkHandOver(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		server := memory.New()
		handOver(b, server.Open(), server.Open())
	})
	b.Run("file", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "store")
		handOver(b, openFile(b, dir), openFile(b, dir))
	})
}

func handOver(b *testing.B, one, two store.Docs) {
	locks := [2]lock.Lock{client(b, one, lock.Options{}).Lock("x"), client(b, two, lock.Options{}).Lock("x")}
	ctx := deadline(b)
	held, err := locks[0].Acquire(ctx)
	must.Succeed(b, err)
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
			must.Succeed(b, err)
			waits = len(s.Waiting) == 1
		}
		from := time.Now()
		must.Succeed(b, held.Release(ctx))
		if held = <-next; held == nil {
			b.FailNow()
		}
		total += time.Since(from)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(turns), "µs/handover")
}

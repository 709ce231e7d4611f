package calls_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota"
)

// three starts three members in processes of their own on a file store, and a client.
func three(tb testing.TB, slots int64) *rota.Client {
	dir := filepath.Join(tb.TempDir(), "store")
	for i := range 3 {
		spawn(tb, child{fmt.Sprintf("m%d", i), dir, slots, shortTTL})
	}
	return client(tb, openFile(tb, dir), "bench")
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// BenchmarkMap is end to end: submitted, claimed and run in another process, its result written, read, yielded and
// removed.
func BenchmarkMap(b *testing.B) {
	for _, window := range []int{64, 256} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			c := three(b, 32)
			b.ResetTimer()
			want, peak := 0, uint64(0)
			for got, err := range noop.Map(b.Context(), c, count(b.N), window) {
				if err != nil || got != want {
					b.Fatalf("got %d, %v, want %d", got, err, want)
				}
				if want++; want%1000 == 0 {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(peak)/(1<<20), "peak-heap-MB") // of the caller
		})
	}
}

// BenchmarkLatency is from the submission to the result, at a load that is given by a pace.
func BenchmarkLatency(b *testing.B) {
	for _, rate := range []int{1, 500, 1000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			c := three(b, 32)
			var wg sync.WaitGroup
			took := make([]time.Duration, b.N)
			pace := time.NewTicker(time.Second / time.Duration(max(rate, 10)))
			defer pace.Stop()
			b.ResetTimer()
			for i := range b.N {
				<-pace.C
				wg.Go(func() {
					start := time.Now()
					call, err := noop.Submit(context.Background(), c, i)
					if err == nil {
						_, err = call.Wait(context.Background())
					}
					took[i] = time.Since(start)
					if err != nil {
						b.Error(err)
					}
				})
				if rate == 1 {
					wg.Wait()
				}
			}
			wg.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkBacklog runs calls that were all submitted before a member was there.
func BenchmarkBacklog(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "store")
	s := openFile(b, dir)
	c := client(b, s, "bench")
	calls, room := make([]*rota.Call[int], b.N), make(chan struct{}, 512)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range b.N {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			var err error
			if calls[i], err = noop.Submit(context.Background(), c, i); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	submitted := time.Since(start)
	for i := range 3 {
		spawn(b, child{fmt.Sprintf("m%d", i), dir, 32, shortTTL})
	}
	b.ResetTimer()
	for i, call := range calls {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if got, err := call.Wait(context.Background()); err != nil || got != i {
				b.Error(got, err)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/submitted.Seconds(), "submitted/s")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

package kafka_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/kafka"
)

// fill makes a number of calls, by many callers.
func fill(b *testing.B, n int, call func(i int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for caller := range 256 {
		wg.Go(func() {
			for i := caller; i < n; i += 256 {
				if err := call(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

const replayed = 1_000_000

// BenchmarkReplayLog reads a log of a million records of 200 bytes, from the first one on.
func BenchmarkReplayLog(b *testing.B) {
	o := kafka.Options{Brokers: servers(b), Name: freshName(b), Timeout: time.Minute}
	s, ctx, data := openWith(b, o), context.Background(), make([]byte, 200)
	fill(b, replayed, func(int) error { _, err := s.Append(ctx, data); return err })
	for b.Loop() {
		reader := openWith(b, o)
		for after, head := uint64(0), uint64(1); after < head; {
			page, err := reader.Read(ctx, after, 2000)
			if err != nil || len(page.Records) == 0 {
				b.Fatal(after, err)
			}
			after, head = page.Records[len(page.Records)-1].Index, page.Head
		}
	}
}

// BenchmarkReplayDocs opens a store whose thousand documents were written a million times in all, and gets one.
func BenchmarkReplayDocs(b *testing.B) {
	o := kafka.Options{Brokers: servers(b), Name: freshName(b), Timeout: time.Minute}
	s, ctx, data := openWith(b, o), context.Background(), make([]byte, 200)
	var mu sync.Mutex
	versions := make(map[string]store.Version)
	fill(b, replayed, func(i int) error {
		key := fmt.Sprintf("k/%d", i%256*4+i/256%4)
		mu.Lock()
		v := versions[key]
		mu.Unlock()
		v, err := s.Put(ctx, store.Doc{Key: key, Value: data, Version: v})
		mu.Lock()
		versions[key] = v
		mu.Unlock()
		return err
	})
	for b.Loop() {
		must.Succeed(b, must.Err(openWith(b, o).Get(ctx, "k/1")))
	}
}

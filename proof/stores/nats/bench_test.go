package nats_test

import (
	"context"
	"sync/atomic"
	"testing"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// benchData is an entry of usual size.
var benchData = make([]byte, 200)

// share makes n calls, some of them at a time.
func share(b *testing.B, callers, n int, call func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan error, callers)
	for range callers {
		go func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		must.Succeed(b, <-done)
	}
}

// client is the vendor's client as its manual shows it, on a stream of its own.
func client(b *testing.B) (js jetstream.JetStream, subject string) {
	b.Helper()
	conn, err := nc.Connect(address)
	must.Succeed(b, err)
	b.Cleanup(conn.Close)
	js, err = jetstream.New(conn)
	must.Succeed(b, err)
	name := bucket()
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "bench_" + name, Subjects: []string{"bench." + name}}); err != nil {
		b.Fatal(err)
	}
	return js, "bench." + name
}

func benchmarkAppend(b *testing.B, callers int) {
	b.Run("rota", func(b *testing.B) {
		s := openWith(b, nats.Options{Bucket: bucket()})
		b.ReportAllocs()
		b.ResetTimer()
		share(b, callers, b.N, func() error { _, err := s.Append(context.Background(), benchData); return err })
	})
	b.Run("client", func(b *testing.B) {
		js, subject := client(b)
		b.ReportAllocs()
		b.ResetTimer()
		share(b, callers, b.N, func() error { _, err := js.Publish(context.Background(), subject, benchData); return err })
	})
}

func BenchmarkAppend1(b *testing.B) { benchmarkAppend(b, 1) }
func BenchmarkAppend8(b *testing.B) { benchmarkAppend(b, 8) }

// BenchmarkHeartbeat is what a member costs the server with each renewal, and with each look at another one.
func BenchmarkHeartbeat(b *testing.B) {
	s := openWith(b, nats.Options{Bucket: bucket()})
	owner, err := s.OpenSession(b.Context(), 1e12)
	must.Succeed(b, err)
	v := store.Version("")
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			if v, err = owner.Put(b.Context(), store.Doc{Key: "pulse/m", Value: benchData, Version: v}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Get(b.Context(), "pulse/m"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRead reads a log of 10,000 records from its beginning.
func BenchmarkRead(b *testing.B) {
	s := openWith(b, nats.Options{Bucket: bucket()})
	const records = 10_000
	share(b, 64, records, func() error { _, err := s.Append(context.Background(), benchData); return err })
	b.ResetTimer()
	for b.Loop() {
		for after := uint64(0); after < records; {
			page, err := s.Read(context.Background(), after, 2000)
			must.Succeed(b, err)
			after += uint64(len(page.Records))
		}
	}
	b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

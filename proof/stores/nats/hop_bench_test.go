package nats_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// A hop of the benchmarks: so many messages of a hundred segments of 200 bytes.
const (
	hopMessages = 64
	hopSegments = 100
)

var hopData = make([]byte, hopSegments*200)

// measured reports segments a second, and CPU of each: of this process, which the server is in as well.
func measured(b *testing.B, messages int, hop func() error) {
	b.Helper()
	cpu := func() time.Duration {
		var u syscall.Rusage
		must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := cpu()
	for b.Loop() {
		must.Succeed(b, hop())
	}
	segments := float64(b.N * messages * hopSegments)
	b.ReportMetric(segments/b.Elapsed().Seconds(), "segments/s")
	b.ReportMetric(float64((cpu()-began).Nanoseconds())/segments, "cpu-ns/segment")
}

// BenchmarkHop moves messages from one shard to the next: received, and committed with their outputs.
func BenchmarkHop(b *testing.B) {
	s := openWith(b, nats.Options{Bucket: bucket()})
	ctx := context.Background()
	from, to := store.Shard{Edge: "a"}, store.Shard{Edge: "b"}
	must.Succeed(b, s.MakeFlow(ctx, "f@1", []store.Shard{from, to}))
	for i := range hopMessages {
		u := store.Unit{Name: fmt.Sprint("first/", i),
			Outputs: []store.Put{{Shard: from, Segments: hopSegments, Data: hopData}}}
		must.Succeed(b, must.Err(s.Commit(ctx, "f@1", u)))
	}
	measured(b, hopMessages, func() error {
		var units []store.Unit
		for len(units) < hopMessages {
			got, err := s.Receive(ctx, "f@1",
				store.Receive{Shard: from, Limit: hopMessages - len(units), Lease: time.Minute})
			if err != nil {
				return err
			}
			for i := range got {
				units = append(units, store.Unit{Inputs: got[i : i+1],
					Outputs: []store.Put{{Shard: to, Segments: hopSegments, Data: got[i].Data}}})
			}
		}
		_, err := s.Commit(ctx, "f@1", units...)
		from, to = to, from
		return err
	})
}

// BenchmarkBareHop is the same with the vendor's client: fetch, publish create-only without waiting for each answer,
// acknowledge.
func BenchmarkBareHop(b *testing.B) {
	edges := []*bareEdge{newBareEdge(b), newBareEdge(b)}
	must.Succeed(b, edges[0].fill(0, 0, hopMessages))
	round := 0
	measured(b, hopMessages, func() error {
		round++
		err := edges[0].move(edges[1], round, hopMessages)
		edges[0], edges[1] = edges[1], edges[0]
		return err
	})
}

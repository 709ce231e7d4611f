package rota_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
)

// BenchmarkPartitioner puts items that do nothing through a window of 256, on three members of one process that share a
// store in memory.
func BenchmarkPartitioner(b *testing.B) {
	ctx := b.Context()
	s := memory.New()
	typ := rota.NewPartitioner("sum", rota.Partitioner[struct{}]{Window: 256, MaxConcurrent: 16, List: numbers(b.N),
		Run: func(context.Context, *rota.Grant, struct{}) error { return nil }})
	var m *rota.Member
	for i := range 3 {
		var err error
		m, err = rota.Join(ctx, rota.Config{Member: fmt.Sprint("m", i), Store: s.Open(), Types: []rota.Type{typ}})
		must.Succeed(b, err)
		defer m.Leave(context.WithoutCancel(ctx))
	}
	b.ResetTimer()
	must.Succeed(b, m.Submit(ctx, "sum", rota.Task{Type: "sum", Spread: rota.Partitioned, Partitions: []string{"all"}}))
	must.Succeed(b, m.Wait(ctx, "sum"))
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
	b.ReportMetric(float64(m.Value().Applied())/float64(b.N), "entries/item")
	b.ReportMetric(float64(len(slices.Collect(m.Value().Partitions()))), "partitions-left")
}

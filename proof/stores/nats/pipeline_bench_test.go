package nats_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/nats"
)

// The pipeline of the benchmark: a source, and three stages after it, of which the last one puts nothing out. A message
// has a hundred segments.
const (
	pipeMessages = 4000
	pipeStages   = 3
	pipeParts    = 4 // in which the source is read
	pipeSegments = 100
)

// BenchmarkPipeline runs a flow of a source, read in four parts, and three stages, each on one slot, from its
// submission to the end of its job. It reports segments a second, and CPU of each, of this process.
func BenchmarkPipeline(b *testing.B) {
	s := openWith(b, nats.Options{Bucket: bucket()})
	var written atomic.Int64
	segment := make([]byte, 200)
	m, err := rota.Join(b.Context(), rota.Config{Member: "m", Store: s, Slots: pipeStages + pipeParts,
		Types: []rota.Type{
			rota.NewInput("in", rota.Input[struct{}, []byte]{Ahead: 16, Read: func(_ context.Context, _ *rota.Grant,
				_ struct{}, at []byte, out *rota.Sender[[]byte]) ([]byte, bool, error) {
				n := 0
				_, _ = fmt.Sscan(string(at), &n) // 0 at first
				for range pipeSegments {
					_ = out.Send(segment) // its error fails the batch
				}
				return fmt.Append(nil, n+1), n+1 == pipeMessages/pipeParts, nil
			}}),
			rota.NewStage("hop", rota.Stage[struct{}, []byte, []byte]{Do: func(_ context.Context, _ *rota.Grant,
				_ struct{}, in [][]byte, out *rota.Sender[[]byte]) error {
				for _, s := range in {
					_ = out.Send(s)
				}
				return nil
			}}),
			rota.NewOutput("out", rota.Output[struct{}, []byte]{Write: func(_ context.Context, _ *rota.Grant,
				_ struct{}, in [][]byte) error {
				written.Add(int64(len(in)))
				return nil
			}}),
		}})
	must.Succeed(b, err)
	b.Cleanup(func() {
		if err := m.Leave(context.Background()); err != nil {
			b.Error(err)
		}
	})
	cpu := func() time.Duration {
		var u syscall.Rusage
		must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := cpu()
	for round := 0; b.Loop(); round++ {
		id := fmt.Sprint("pipe", round)
		must.Succeed(b, must.Err(m.SubmitFile(b.Context(), id+".yaml",
			[]byte("tasks: [{name: in, type: in, parts: 4, max: 4}, {name: a, type: hop, from: in, max: 1}, {name: b, type: hop, from: a, max: 1}, {name: out, type: out, from: b, max: 1}]"))))
		must.Succeed(b, m.Wait(b.Context(), id))
		if n := written.Swap(0); n < pipeMessages*pipeSegments {
			b.Fatalf("%d segments were written, %d were read", n, pipeMessages*pipeSegments)
		}
	}
	segments := float64(b.N * pipeMessages * pipeSegments)
	b.ReportMetric(segments/b.Elapsed().Seconds(), "segments/s")
	b.ReportMetric(float64((cpu()-began).Nanoseconds())/segments, "cpu-ns/segment")
}

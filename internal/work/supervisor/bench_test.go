//go:build unix

package supervisor_test

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// BenchmarkPeriodic100k runs 100,000 no-op checks every 10 s for two periods, once whatever -benchtime says, and
// measures what it costs from the first assignment on: cores, memory, lateness of rounds.
func BenchmarkPeriodic100k(b *testing.B) {
	const checks, span = 100_000, 20 * time.Second
	noop := work.RunnerFunc(func(context.Context, *work.Grant) error { return nil })
	s, err := supervisor.New(supervisor.Config{Member: "m1",
		Types: work.Types{"noop": {Periodic: true, New: func(work.Definition) (work.Runner, error) {
			return noop, nil
		}}}})
	must.Succeed(b, err)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	assignments, done := make(chan protocol.Assignment), make(chan error, 1)
	go func() { done <- s.Run(ctx, assignments) }()
	before, cpu := heap(), cpuTime(b)
	grants := periodicGrants(checks)
	start := time.Now()
	assignments <- protocol.Assignment{Version: 1, ValidUntil: protocol.Now().Add(time.Hour), Grants: grants}
	time.Sleep(span) // waits: the load is the passing of time
	used, took := cpuTime(b)-cpu, time.Since(start)
	st := s.Status()
	grown := heap() - before
	end()
	must.Succeed(b, <-done)
	if st.Lateness.Rounds < 15*checks/10 || st.Counts.Running != checks {
		b.Fatalf("%d rounds of %d checks in %v", st.Lateness.Rounds, st.Counts.Running, took)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(st.Lateness.Rounds)/took.Seconds(), "rounds/s")
	b.ReportMetric(used.Seconds()/took.Seconds(), "cores")
	b.ReportMetric(float64(grown)/(1<<20), "heap-MB")
	b.ReportMetric(float64(st.Lateness.P50US)/1000, "late-p50-ms")
	b.ReportMetric(float64(st.Lateness.P99US)/1000, "late-p99-ms")
	b.ReportMetric(float64(st.Lateness.MaxUS)/1000, "late-max-ms")
}

func periodicGrants(n int) []*protocol.Grant {
	spec := &cluster.TaskSpec{Type: "noop", Definition: []byte(`{"every_ms":10000,"tags":{"squad":"backend"}}`)}
	grants := make([]*protocol.Grant, n)
	for i := range grants {
		grants[i] = &protocol.Grant{Partition: cluster.PartitionID(fmt.Sprintf("checks#%06d", i)), Token: 1, Spec: spec}
	}
	return grants
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpuTime is what this process has used so far, in user and system mode.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

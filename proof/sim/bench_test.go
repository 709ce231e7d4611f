package sim_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine/replica"
)

// BenchmarkRun reports how many cluster-hours a core simulates per second, over worlds of all sizes.
func BenchmarkRun(b *testing.B) {
	var virtual time.Duration
	var events uint64
	for b.Loop() {
		for seed := range uint64(8) {
			r := sim.Run(sim.Config{Machine: replica.Machine(), Seed: seed, Duration: 10 * time.Minute})
			if r.Violation != nil {
				b.Fatal(r.Violation)
			}
			virtual += r.Duration
			events += r.Events
		}
	}
	b.ReportMetric(virtual.Hours()/b.Elapsed().Seconds(), "cluster-h/s")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

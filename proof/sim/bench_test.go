package sim_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/leader"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/machine/sync"
)

// BenchmarkRun reports how many cluster-hours a core simulates per second, over worlds of all sizes.
func BenchmarkRun(b *testing.B) {
	for _, m := range []*machine.Machine{replica.Machine(), leader.Machine(), lease.Machine(), sync.Machine()} {
		b.Run(m.Name, func(b *testing.B) {
			var virtual time.Duration
			var events uint64
			for b.Loop() {
				for seed := range uint64(8) {
					r := sim.Run(sim.Config{Machine: m, Seed: seed, Duration: 10 * time.Minute})
					if r.Violation != nil {
						b.Fatal(r.Violation)
					}
					virtual += r.Duration
					events += r.Events
				}
			}
			b.ReportMetric(virtual.Hours()/b.Elapsed().Seconds(), "cluster-h/s")
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

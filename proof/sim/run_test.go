package sim_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/leader"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/machine/sync"
)

// TestSeeds runs ten worlds, some of each kind of store. make sim runs many more, and longer.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		if r := sim.Run(sim.Config{Machine: replica.Machine(), Seed: seed,
			Duration: 3 * time.Minute}); r.Violation != nil {
			t.Error(r.Violation)
		}
	}
}

func TestSameSeedSameRun(t *testing.T) {
	c := sim.Config{Machine: replica.Machine(), Seed: 2, Duration: 5 * time.Minute}
	first := sim.Run(c)
	before := runtime.GOMAXPROCS(1)
	second := sim.Run(c)
	runtime.GOMAXPROCS(before)
	if first.Digest != second.Digest || first.Events != second.Events || first.Events == 0 {
		t.Errorf("got digest %x after %d events, then %x after %d", first.Digest, first.Events, second.Digest,
			second.Events)
	}
	c.Seed = 3
	if other := sim.Run(c); other.Digest == first.Digest {
		t.Error("another seed gave the same run")
	}
}

// TestAFormerStartAnnouncesNothing: a process that does not know that the cluster has removed it ends for a restart.
// Nothing is held for it: the member of its name is another process by then, which lives and works.
func TestAFormerStartAnnouncesNothing(t *testing.T) {
	t.Parallel()
	c := sim.Config{Machine: lease.Machine(), Seed: 392, Duration: time.Hour}
	if r := sim.Run(c); r.Violation != nil {
		t.Error(r.Violation)
	}
}

// TestClocksBeyondTheBound shows that the simulator notices an overlap: with clocks that are more wrong than members
// allow for, there is one.
func TestClocksBeyondTheBound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		c := sim.Config{Machine: replica.Machine(), Seed: seed, Duration: 10 * time.Minute, Drift: 400}
		r := sim.Run(c)
		if r.Violation == nil || r.Violation.Promise != "G2" {
			continue
		}
		shrinks(t, c, r)
		return
	}
	t.Error("no owners overlapped though clocks were wrong by 30 %")
}

// shrinks checks that a broken run is found again with fewer faults, and can be read.
func shrinks(t *testing.T, c sim.Config, r sim.Result) {
	t.Helper()
	short, again := sim.Shrink(c, 20)
	if again.Violation == nil || again.Violation.Promise != r.Violation.Promise {
		t.Fatalf("got %v after shortening, want %s broken", again.Violation, r.Violation.Promise)
	}
	var trace strings.Builder
	short.Trace = &trace
	if last := sim.Run(short); last.Violation == nil || *last.Violation != *again.Violation {
		t.Errorf("got %v, then %v", again.Violation, last.Violation)
	}
	if len(short.Script) > 150 || !strings.Contains(trace.String(), "starts steady#") {
		t.Errorf("the shortest script has %d faults; the trace is %d bytes", len(short.Script), trace.Len())
	}
}

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

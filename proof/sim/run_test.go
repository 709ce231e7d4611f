package sim_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/leader"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/machine/sync"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
)

// run is a run without a broken promise.
func run(t *testing.T, c sim.Config) sim.Result {
	t.Helper()
	r := sim.Run(c)
	if r.Violation != nil {
		t.Error(r.Violation)
	}
	return r
}

// TestSeeds runs some worlds, some of each kind of store. make sim runs many more, and longer.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		run(t, sim.Config{Machine: replica.Machine(), Seed: seed, Duration: 3 * time.Minute})
	}
	for seed := range uint64(6) {
		run(t, sim.Config{Machine: sync.Machine(), Seed: seed, Duration: 3 * time.Minute})
	}
}

// TestSeedsThatFoundSomething: in seed 392 a process that does not know that the cluster has removed it ends for a
// restart. Nothing is held for it: the member of its name is another process by then, which lives and works. In seed
// 810 the group changes once more while owners share.
func TestSeedsThatFoundSomething(t *testing.T) {
	t.Parallel()
	run(t, sim.Config{Machine: lease.Machine(), Seed: 392, Duration: time.Hour})
	run(t, sim.Config{Machine: sync.Machine(), Seed: 810, Duration: 12 * time.Minute})
}

// TestSameSeedSameRun runs a seed twice: the traces are the same text, so that those of two programs can be compared. A
// call that waits for the group goes on in the same order each time.
func TestSameSeedSameRun(t *testing.T) {
	for _, c := range []sim.Config{
		{Machine: replica.Machine(), Seed: 2, Duration: 5 * time.Minute},
		{Machine: sync.Machine(), Seed: 2, Duration: 5 * time.Minute},
		{Machine: leader.Machine(), Seed: 1, Duration: 20 * time.Second, TraceTo: 3000},
	} {
		var first, second strings.Builder
		c.Trace = &first
		want := run(t, c)
		c.Trace = &second
		before := runtime.GOMAXPROCS(1)
		got := run(t, c)
		runtime.GOMAXPROCS(before)
		if got.Digest != want.Digest || got.Events != want.Events || first.String() != second.String() ||
			strings.Count(first.String(), "\n") < 100 {
			t.Errorf("%s: got digest %x after %d events, then %x after %d", c.Machine.Name, want.Digest, want.Events,
				got.Digest, got.Events)
		}
		c.Seed++
		if other := run(t, c); other.Digest == want.Digest {
			t.Error("another seed gave the same run")
		}
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

// mistakes are in what effects say: no time, no value and no number of effects differs.
func mistakes() map[string]func(machine.Effect) machine.Effect {
	return map[string]func(machine.Effect) machine.Effect{
		"a grant has lost its cause": func(e machine.Effect) machine.Effect {
			a, ok := e.(member.Assign)
			if !ok {
				return e
			}
			grants := make([]*protocol.Grant, len(a.Assignment.Grants))
			for i, g := range a.Assignment.Grants {
				without := *g
				without.Cause, grants[i] = "", &without
			}
			a.Assignment.Grants = grants
			return a
		},
		"another incarnation is told than the member has": func(e machine.Effect) machine.Effect {
			if j, ok := e.(member.Joining); ok {
				j.Incarnation++
				return j
			}
			return e
		},
		"what own commands did is not told": func(e machine.Effect) machine.Effect {
			if a, ok := e.(member.Applying); ok {
				a.Entries = nil
				return a
			}
			return e
		},
	}
}

// plant puts a mistake into the effects of a machine, and returns the hash of what a digest of times, values and
// numbers of effects would notice.
func plant(m *machine.Machine, mistake func(machine.Effect) machine.Effect) *uint64 {
	loose, right := new(uint64), m.Step
	m.Step = func(s machine.State, ev machine.Event) []machine.Effect {
		fx := right(s, ev)
		for i, e := range fx {
			fx[i] = mistake(e)
		}
		v := s.Value()
		*loose = (*loose ^ uint64(v.Chain()) ^ uint64(v.Digest())<<1 ^ uint64(s.Now()) ^ uint64(len(fx))) * 0x9E3779B97F4A7C15 //nolint:gosec // a hash
		return fx
	}
	return loose
}

// TestDigestHasWhatEffectsSay plants mistakes that leave all times, values and numbers of effects as they are.
func TestDigestHasWhatEffectsSay(t *testing.T) {
	t.Parallel()
	run := func(mistake func(machine.Effect) machine.Effect) (loose, strict uint64) {
		m := replica.Machine()
		l := plant(m, mistake)
		r := sim.Run(sim.Config{Machine: m, Seed: 2, Duration: 2 * time.Minute})
		return *l, r.Digest
	}
	loose, strict := run(func(e machine.Effect) machine.Effect { return e })
	for name, mistake := range mistakes() {
		if l, s := run(mistake); l != loose || s == strict {
			t.Errorf("%s: got digest %x as without it; the same times, values and numbers: %t", name, s, l == loose)
		}
	}
}

// TestWalksDigestHasWhatEffectsSay plants the same mistakes in what the checker walks: the states are the same, the
// digest is not.
func TestWalksDigestHasWhatEffectsSay(t *testing.T) {
	t.Parallel()
	explore := func(mistake func(machine.Effect) machine.Effect) check.Report {
		rules := replica.Rules()
		plant(rules.Machine, mistake)
		return check.Explore(walk.New(rules, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1}, Prompt: true}),
			check.Options{})
	}
	want := explore(func(e machine.Effect) machine.Effect { return e })
	for name, mistake := range mistakes() {
		if got := explore(mistake); got.States != want.States || got.Moves != want.Moves || got.Digest == want.Digest {
			t.Errorf("%s: got %d states, %d moves, digest %x; without it %d, %d, %x",
				name, got.States, got.Moves, got.Digest, want.States, want.Moves, want.Digest)
		}
	}
}

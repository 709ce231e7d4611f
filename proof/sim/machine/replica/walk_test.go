package replica_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/walk"
)

// TestNothingBreaks walks what takes a second or so. make check walks more.
func TestNothingBreaks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		bounds walk.Config
	}{
		{"three members, any read", walk.Config{Members: 3, Partitions: 1, Sweeps: true}},
		{"two members, a crash and a restart", walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1, walk.Restarts: 1}}},
		{"two members, a suspicion, a failed append", walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Suspicions: 1, walk.Failures: 1}, Prompt: true}},
		{"two members, a leave and a crash", walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Leaves: 1, walk.Crashes: 1}, Prompt: true}},
		{"two members, no gap", walk.Config{Members: 2, Partitions: 2,
			Faults: walk.Faults{walk.Crashes: 1}, Handover: cluster.HandoverNoGap, Prompt: true}},
		{"three members", walk.Config{Members: 3, Partitions: 1, Prompt: true}},
		{"three members, two partitions, a crash", walk.Config{Members: 3, Partitions: 2,
			Faults: walk.Faults{walk.Crashes: 1}, Prompt: true}},
		{"three members, a doubled append", walk.Config{Members: 3, Partitions: 1,
			Faults: walk.Faults{walk.Duplicates: 1}, Prompt: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := check.Explore(walk.New(replica.Rules(), c.bounds), check.Options{Violations: 1})
			if len(r.Violations) > 0 || !r.Complete || r.States < 40 {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestTimelessBreaks lets a heartbeat vanish too early: two members must be found at work for one partition.
func TestTimelessBreaks(t *testing.T) {
	t.Parallel()
	r := check.Explore(walk.New(replica.Rules(), walk.Config{Members: 2, Partitions: 1,
		Faults: walk.Faults{walk.Suspicions: 1}, Prompt: true, Timeless: true}), check.Options{Violations: 1})
	if len(r.Violations) == 0 || !strings.HasPrefix(r.Violations[0].Promise, "G2") {
		t.Errorf("got %+v", r)
	}
}

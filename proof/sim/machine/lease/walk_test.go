package lease_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/walk"
)

// TestNothingBreaks walks what takes a second or so. make check walks more.
func TestNothingBreaks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		least  int
		bounds walk.Config
	}{
		{"two members, a crash", 9, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1}, Prompt: true}},
		{"two members, a crash, told late", 11, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1}}},
		{"two members, one comes back", 100, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1, walk.Restarts: 1}, Prompt: true}},
		{"three members, a crash, a late write", 80, walk.Config{Members: 3, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1, walk.Duplicates: 1}, Prompt: true}},
		{"two members, one is away", 60, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Suspicions: 1}, Prompt: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := check.Explore(walk.New(lease.Rules(), c.bounds), check.Options{Violations: 1})
			if len(r.Violations) > 0 || !r.Complete || r.States < c.least {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestTimelessBreaks lets a session end too early: two members must be found at work for one partition.
func TestTimelessBreaks(t *testing.T) {
	t.Parallel()
	r := check.Explore(walk.New(lease.Rules(), walk.Config{Members: 2, Partitions: 1,
		Faults: walk.Faults{walk.Suspicions: 1}, Timeless: true}),
		check.Options{Violations: 1})
	if len(r.Violations) == 0 || !strings.HasPrefix(r.Violations[0].Promise, "G2") {
		t.Errorf("got %+v", r)
	}
}

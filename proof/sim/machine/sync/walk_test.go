package sync_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/proof/sim/machine/sync"
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
		{"one member", 3, walk.Config{Members: 1, Partitions: 1, Prompt: true}},
		{"two members", 10, walk.Config{Members: 2, Partitions: 1, Prompt: true}},
		{"two members, a crash", 30, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1}, Prompt: true}},
		{"two members, a suspicion", 30, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Suspicions: 1}, Prompt: true}},
		{"a group that is forgotten", 60, walk.Config{Members: 1, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1, walk.Restarts: 1, walk.Forgets: 1}, Prompt: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := check.Explore(walk.New(sync.Rules(), c.bounds), check.Options{Violations: 1, States: 100000})
			if len(r.Violations) > 0 || !r.Complete || r.States < c.least {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestTimelessBreaks lets the group remove a member too early: two members must be found at work for one partition.
func TestTimelessBreaks(t *testing.T) {
	t.Parallel()
	r := check.Explore(walk.New(sync.Rules(), walk.Config{Members: 2, Partitions: 1,
		Faults: walk.Faults{walk.Suspicions: 1}, Timeless: true}),
		check.Options{Violations: 1})
	if len(r.Violations) == 0 || !strings.HasPrefix(r.Violations[0].Promise, "G2") {
		t.Errorf("got %+v", r)
	}
}

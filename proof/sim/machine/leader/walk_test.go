package leader_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/proof/sim/machine/leader"
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
		{"three members", 1, walk.Config{Members: 3, Partitions: 1, Prompt: true}},
		{"two members, a crash, told late", 50, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1}}},
		{"three members, a crash", 50, walk.Config{Members: 3, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1}, Prompt: true}},
		{"three members, a suspicion", 150, walk.Config{Members: 3, Partitions: 1,
			Faults: walk.Faults{walk.Suspicions: 1}, Prompt: true}},
		{"two members, a leave", 150, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Leaves: 1}, Prompt: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := check.Explore(walk.New(leader.Rules(), c.bounds), check.Options{Violations: 1})
			if len(r.Violations) > 0 || !r.Complete || r.States < c.least {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestTimelessBreaks lets a session end too early: two members must be found at work for one partition. Those that are
// told of everything at once find out in time, so they are told later here.
func TestTimelessBreaks(t *testing.T) {
	t.Parallel()
	r := check.Explore(walk.New(leader.Rules(), walk.Config{Members: 2, Partitions: 1,
		Faults: walk.Faults{walk.Suspicions: 1}, Timeless: true}),
		check.Options{Violations: 1})
	if len(r.Violations) == 0 || !strings.HasPrefix(r.Violations[0].Promise, "G2") {
		t.Errorf("got %+v", r)
	}
}

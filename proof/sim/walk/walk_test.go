package walk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/proof/sim/machine/leader"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/machine/sync"
	"github.com/rota-run/rota/proof/sim/walk"
)

// bounds are those of members of one partition, with a fault of each kind.
func bounds(members int, prompt bool, faults ...walk.Fault) walk.Config {
	c := walk.Config{Members: members, Partitions: 1, Prompt: prompt}
	for _, f := range faults {
		c.Faults[f]++
	}
	return c
}

// TestNothingBreaks walks what takes a second or so. make check walks more.
func TestNothingBreaks(t *testing.T) {
	t.Parallel()
	sweeps, noGap, two := bounds(3, false), bounds(2, true, walk.Crashes), bounds(3, true, walk.Crashes)
	sweeps.Sweeps, noGap.Handover, noGap.Partitions, two.Partitions = true, cluster.HandoverNoGap, 2, 2
	for _, c := range []struct {
		rules  func() *walk.Rules
		least  int
		bounds walk.Config
	}{
		{replica.Rules, 40, sweeps},
		{replica.Rules, 40, bounds(2, false, walk.Crashes, walk.Restarts)},
		{replica.Rules, 40, bounds(2, true, walk.Suspicions, walk.Failures)},
		{replica.Rules, 40, bounds(2, true, walk.Leaves, walk.Crashes)},
		{replica.Rules, 40, noGap},
		{replica.Rules, 40, bounds(3, true)},
		{replica.Rules, 40, two},
		{replica.Rules, 40, bounds(3, true, walk.Duplicates)},

		{leader.Rules, 1, bounds(3, true)},
		{leader.Rules, 50, bounds(2, false, walk.Crashes)},
		{leader.Rules, 50, bounds(3, true, walk.Crashes)},
		{leader.Rules, 150, bounds(3, true, walk.Suspicions)},
		{leader.Rules, 150, bounds(2, true, walk.Leaves)},

		{lease.Rules, 9, bounds(2, true, walk.Crashes)},
		{lease.Rules, 11, bounds(2, false, walk.Crashes)},
		{lease.Rules, 100, bounds(2, true, walk.Crashes, walk.Restarts)},
		{lease.Rules, 80, bounds(3, true, walk.Crashes, walk.Duplicates)},
		{lease.Rules, 60, bounds(2, true, walk.Suspicions)},

		{sync.Rules, 3, bounds(1, true)},
		{sync.Rules, 10, bounds(2, true)},
		{sync.Rules, 30, bounds(2, true, walk.Crashes)},
		{sync.Rules, 30, bounds(2, true, walk.Suspicions)},
		{sync.Rules, 60, bounds(1, true, walk.Crashes, walk.Restarts, walk.Forgets)},
	} {
		rules := c.rules()
		t.Run(fmt.Sprintf("%s, %s", rules.Machine.Name, c.bounds), func(t *testing.T) {
			t.Parallel()
			r := check.Explore(walk.New(rules, c.bounds), check.Options{Violations: 1})
			if len(r.Violations) > 0 || !r.Complete || r.States < c.least {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestTimelessBreaks lets a heartbeat vanish, a session end, or the group remove a member too early: two members must
// be found at work for one partition. Members of leader that are told of everything at once find out in time, so they
// are told later here.
func TestTimelessBreaks(t *testing.T) {
	t.Parallel()
	for _, rules := range []*walk.Rules{replica.Rules(), leader.Rules(), lease.Rules(), sync.Rules()} {
		c := bounds(2, rules.Machine.Name == "replica", walk.Suspicions)
		c.Timeless = true
		r := check.Explore(walk.New(rules, c), check.Options{Violations: 1})
		if len(r.Violations) == 0 || !strings.HasPrefix(r.Violations[0].Promise, "G2") {
			t.Errorf("%s: got %+v", rules.Machine.Name, r)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []walk.Config{{}, {Members: 10, Partitions: 1}, {Members: 1},
		{Members: 1, Partitions: 1, Faults: walk.Faults{walk.Leaves: -1}}} {
		if c.Check() == nil {
			t.Errorf("%+v was let through", c)
		}
	}
}

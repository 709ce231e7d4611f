package cluster

import (
	"slices"

	"github.com/rota-run/rota/internal/schedule"
)

// NoMoves, as the MoveBudget of a [Configure], pins what runs: see Settings.Pinned.
const NoMoves = -1

// Rebalance evens the load of a cluster that is pinned, once: what runs moves within Settings.MoveBudget until all moves
// have begun that are worth it.
type Rebalance struct{}

func (Rebalance) tag() byte { return 18 }

func (c Rebalance) code(x *coder) Command { return made(x, c) }

// String is the command on one line.
func (Rebalance) String() string { return "rebalance" }

func (Rebalance) apply(d *draft) string {
	if !d.settings.Pinned {
		return "nothing is pinned: the load is evened all the time"
	}
	d.rebalance(true)
	return ""
}

// rebalance begins or ends that what is pinned moves.
func (d *draft) rebalance(on bool) {
	d.digest -= d.settingsHash()
	d.settings.Rebalancing = on
	d.digest += d.settingsHash()
}

// pin takes the budget of a [Configure].
func (s *Settings) pin(budget int64) {
	switch {
	case budget == NoMoves:
		s.Pinned = true
	case budget > 0:
		s.MoveBudget, s.Pinned, s.Rebalancing = budget, false, false
	}
}

// fixed reports whether the items of a class stay where they are: all do in a pinned cluster, and some in any, unless
// their member may not keep them.
func (v *Value) fixed(c *schedule.Class, m *schedule.Member) bool {
	pinned := v.settings.Pinned && !v.settings.Rebalancing
	if kindOf(c) != kindWindows && !pinned || m.Draining || c.Pin != "" && c.Pin != m.ID {
		return false
	}
	return !slices.ContainsFunc(c.Selector, func(l schedule.Label) bool { return !slices.Contains(m.Labels, l) })
}

package fold

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// snaps is when a member writes snapshots.
type snaps struct {
	saving   bool
	savedAt  uint64         // entries applied at the last snapshot
	lastSnap cluster.Index  // index of the last own snapshot
	cost     int            // of replaying the entries since the last snapshot
	even     *cluster.Value // the newest value of this step that a snapshot can be taken of, nil for none
	evenCost int            // cost at that value
}

// passed notes a value that a snapshot may be taken of.
func (l *Ledger) passed(v *cluster.Value) {
	if v.Even() {
		even := *v
		l.even, l.evenCost = &even, l.cost
	}
}

// replayCost is the cost of applying an entry again: one for each partition that placement looks at, and a hundred for each command.
func replayCost(after *cluster.Value, e cluster.Entry, planned bool) int {
	cost := 100 * (1 + len(e.Commands))
	if planned {
		cost += after.PartitionCount()
	}
	return cost
}

// Save asks for the snapshot that is due, of the newest value passed since the last call, if this member is the one that writes snapshots. It frees the entries
// before the former snapshot, so that readers that are a little late need not load it. Cost bounds that of replaying the entries between two; 0: no bound.
func (l *Ledger) Save(c *member.Core, cost int, writes func() bool) {
	even := l.even
	l.even = nil
	due := l.Value.Applied()-l.savedAt >= c.SnapshotEvery || cost > 0 && l.cost >= cost
	if l.saving || !due || even == nil || even.Index() <= l.lastSnap || !writes() {
		return
	}
	c.Emit(member.SaveSnapshot{Value: *even, TrimTo: l.lastSnap})
	l.saving, l.savedAt, l.lastSnap = true, even.Applied(), even.Index()
	l.cost -= l.evenCost
}

// Saving reports whether a snapshot is being written.
func (l *Ledger) Saving() bool { return l.saving }

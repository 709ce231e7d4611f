package fold

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
)

// snaps is when a member writes snapshots.
type snaps struct {
	saving   bool
	savedAt  uint64        // entries applied at the last snapshot
	lastSnap cluster.Index // index of the last own snapshot
	cost     int           // of replaying the entries since the last snapshot
	even     cluster.Value // the newest value of this step that a snapshot can be taken of
	evenCost int           // cost at that value
}

// passed notes a value that a snapshot may be taken of.
func (r *Reader) passed(v *cluster.Value) {
	if v.Even() {
		r.even, r.evenCost = *v, r.cost
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

// Saves says when a snapshot is due.
type Saves struct {
	Every  uint64      // entries
	Cost   int         // of replaying them; 0 for no bound
	Writes func() bool // whether this member is the one that writes snapshots
}

// Save returns the snapshot that is due, of the newest value passed since the last call. It frees the entries before the former snapshot, so that readers
// that are a little late need not load it.
func (r *Reader) Save(v *cluster.Value, s Saves) (member.SaveSnapshot, bool) {
	even := r.even
	r.even = cluster.Value{}
	due := v.Applied()-r.savedAt >= s.Every || s.Cost > 0 && r.cost >= s.Cost
	if r.saving || !due || even.Index() <= r.lastSnap || !s.Writes() {
		return member.SaveSnapshot{}, false
	}
	out := member.SaveSnapshot{Value: even, TrimTo: r.lastSnap}
	r.saving, r.savedAt, r.lastSnap = true, even.Applied(), even.Index()
	r.cost -= r.evenCost
	return out, true
}

// Saved records that the write of the snapshot has ended.
func (r *Reader) Saved() { r.saving = false }

// Saving reports whether a snapshot is being written.
func (r *Reader) Saving() bool { return r.saving }

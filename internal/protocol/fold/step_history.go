package fold

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// historyKept is how many points a history has at most.
const historyKept = 512

// history is what a member has applied lately, oldest first. An entry that no member with this history can have written
// casts a doubt, and then the store is asked which history it has. A copy of it is independent.
type history struct {
	points []member.Point
	// Doubted: an entry has named another history, and the store has not been asked yet which one it has.
	Doubted bool
	// Foreign is how many entries have named another history.
	Foreign uint64
	asking  bool
	next    protocol.Instant // the store is not asked before
	sure    protocol.Instant // until then an entry of another history is its writer's fault
}

// note takes in the points of a page of the log, and what it had of another history.
func (h *history) note(now protocol.Instant, points []member.Point, f foreign) {
	all := append(slices.Clip(h.points), points...)
	h.points = all[max(0, len(all)-historyKept):]
	if f.count > 0 {
		h.Foreign += f.count
		h.Doubted = h.Doubted || now >= h.sure
	}
}

// agrees reports whether the writer of an entry had applied this history, followed by newer points, as far as it is
// kept.
func (h *history) agrees(e cluster.Entry, newer []member.Point) bool {
	chain, ok := chainAt(newer, e.BaseIndex)
	if !ok {
		chain, ok = chainAt(h.points, e.BaseIndex)
	}
	return !ok || chain == e.BaseChain
}

func chainAt(points []member.Point, index cluster.Index) (cluster.Hash, bool) {
	by := func(p member.Point, i cluster.Index) int { return cmp.Compare(p.Index, i) }
	i, ok := slices.BinarySearchFunc(points, index, by)
	if !ok {
		return 0, false
	}
	return points[i].Chain, true
}

// Check asks the store which history it has up to the newest point, while there is a doubt.
func (l *Ledger) Check(c *member.Core) {
	if h := &l.History; h.Doubted && !h.asking && c.At >= h.next {
		h.asking = true
		c.Emit(member.CheckLog{At: l.Value.Index()})
	}
}

// checked handles what the store has. Its error says that this member's history is not that of the log; nil if it is,
// or if the answer failed or cannot be compared.
func (h *history) checked(c *member.Core, ev member.LogChecked) error {
	h.asking, h.next = false, c.At.Add(c.Poll)
	if ev.Err != "" {
		return nil
	}
	if ev.Has.Index < ev.Asked {
		return &protocol.DivergedError{Index: ev.Asked, Reason: shorter}
	}
	switch chain, ok := chainAt(h.points, ev.Has.Index); {
	case !ok: // there is a newer snapshot; we know when we have read on
		return nil
	case chain != ev.Has.Chain:
		return &protocol.DivergedError{Index: ev.Asked,
			Reason: "the log says something else than was read from it before"}
	}
	h.Doubted, h.sure = false, h.next
	return nil
}

// foreign are the entries of a page of the log that name another history.
type foreign struct {
	count  uint64
	newest cluster.Entry
	reason string // why the newest one is one of them
}

// note takes in an applied entry; agrees: what it was based on is this history.
func (f *foreign) note(a protocol.Applied, agrees bool) {
	switch {
	case a.Foreign != "":
		f.reason = a.Foreign
	case !agrees: // its base is too old to refuse it at all members alike
		f.reason = cluster.OtherHistory + "; it counts, for its base is too old to tell everywhere"
	default:
		return
	}
	f.count, f.newest = f.count+1, a.Entry
}

// key is what the journal calls them.
func (f *foreign) key() string {
	if f.count > 1 {
		return fmt.Sprintf("entry %s and %d before it", f.newest.Index, f.count-1)
	}
	return fmt.Sprintf("entry %s", f.newest.Index)
}

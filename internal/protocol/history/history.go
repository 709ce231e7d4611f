package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Kept is how many points a history has at most.
const Kept = 512

// Point is the chain hash after an entry.
type Point struct {
	Index cluster.Index
	Chain cluster.Hash
}

// At returns the point of a value.
func At(v cluster.Value) Point { return Point{v.Index(), v.Chain()} }

// History is what a member has applied lately, oldest first. It is a value: its methods return another one.
type History struct {
	points []Point
	// Doubted: an entry has named another history, and the store has not been asked yet which one it has.
	Doubted bool
	// Foreign is how many entries have named another history.
	Foreign uint64
	asking  bool
	next    protocol.Instant // the store is not asked before
	sure    protocol.Instant // until then an entry of another history is its writer's fault
}

// With is the history after more entries.
func (h History) With(points []Point) History {
	all := append(slices.Clip(h.points), points...)
	h.points = all[max(0, len(all)-Kept):]
	return h
}

// From is the history of a member that has loaded a snapshot.
func (h History) From(p Point) History {
	h.points = []Point{p}
	return h
}

// Agrees reports whether the writer of an entry had applied this history, followed by newer points, as far as it is kept.
func (h History) Agrees(e cluster.Entry, newer []Point) bool {
	chain, ok := find(newer, e.BaseIndex)
	if !ok {
		chain, ok = find(h.points, e.BaseIndex)
	}
	return !ok || chain == e.BaseChain
}

func find(points []Point, index cluster.Index) (cluster.Hash, bool) {
	i, ok := slices.BinarySearchFunc(points, index, func(p Point, i cluster.Index) int { return cmp.Compare(p.Index, i) })
	if !ok {
		return 0, false
	}
	return points[i].Chain, true
}

// Suspect notes entries that have named another history.
func (h History) Suspect(now protocol.Instant, f Foreign) History {
	if f.Count > 0 {
		h.Foreign += f.Count
		h.Doubted = h.Doubted || now >= h.sure
	}
	return h
}

// Ask reports whether to ask the store now which history it has up to the newest point.
func (h History) Ask(now protocol.Instant) (History, bool) {
	if !h.Doubted || h.asking || now < h.next {
		return h, false
	}
	h.asking = true
	return h, true
}

// Answer handles what the store has at an index; asked is the index that it was asked for. It returns why this member's history is not that of the log; ""
// if it is, or if the answer failed or cannot be compared.
func (h History) Answer(now protocol.Instant, asked cluster.Index, has Point, failed bool, rest time.Duration) (History, string) {
	h.asking, h.next = false, now.Add(rest)
	if failed {
		return h, ""
	}
	if has.Index < asked {
		return h, "the log is shorter than what was read from it before"
	}
	switch chain, ok := find(h.points, has.Index); {
	case !ok: // there is a newer snapshot; we know when we have read on
		return h, ""
	case chain != has.Chain:
		return h, "the log says something else than was read from it before"
	}
	h.Doubted, h.sure = false, now.Add(rest)
	return h, ""
}

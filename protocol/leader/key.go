package leader

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
)

// Naming names what a key must not spell out, so that states which differ only in that have one key.
type Naming interface {
	// Any appends all that a value holds, but for the fields that skip lists as Type.Field.
	Any(b []byte, x any, skip ...string) []byte
	// Seq names a sequence number of a writer.
	Seq(w cluster.WriterID, seq uint64) int64
	// Entry appends what an entry says.
	Entry(b []byte, e cluster.Entry) []byte
}

// Unkeyed are the fields that decide nothing, or follow from the rest.
func Unkeyed() []string {
	return []string{
		"Slot.Spec", "Slot.Term", "Head.Term", "Grant.Spec", "Assignment.Index", "Assignment.Version", "Mailbox.Join", "asks.Box", "Observation.Before",
		"folding.answers", "Ledger.History", "Ledger.Ready", "Ledger.Snap", "Ledger.Rest", "Ledger.after", "Ledger.Out", "snaps.savedAt", "snaps.lastSnap", "snaps.cost", "snaps.even",
		"snaps.evenCost",
	}
}

// AppendKey appends what decides this member's future, for those who walk all its states: states with equal keys do the same from now on, as long as they
// have equal Params, their values are alike, and nobody's history diverges.
func (s State) AppendKey(b []byte, n Naming) []byte {
	skip, at, r := Unkeyed(), &step{s}, s.rule
	probing := slices.SortedFunc(slices.Values(s.probing), func(a, b probe) int { return strings.Compare(a.key, b.key) })
	for _, x := range []any{
		s.Is, s.At, s.Life, s.Stop, s.Inc, s.admitted, s.claims, s.Own, s.Pace, s.mailbox, s.head, s.fetch, s.roster, s.asks, s.fold, s.vote, s.heartbeats, s.swept,
		probing, s.Reports, s.Behind(), s.Given.Version == 0, s.Given, s.changed, s.watching, s.Wake, s.busy, s.rest, s.Contact.Problem != "", s.Contact.Refuses,
		r.at, r.term, r.boxes.look, r.plans, r.roster, r.offers, r.holds, r.listed, r.patrol, r.patrols,
	} {
		b = n.Any(b, x, skip...)
	}
	b = appendBox(appendBox(b, n, at.asker(), s.asks.Box), n, s.Writer(), s.fold.Out)
	b = appendTree(b, n, s.slots, skip)
	b = appendTree(b, n, r.boxes.all, skip)
	b = appendTree(b, n, r.heads, skip)
	b = appendTree(b, n, r.docs, skip)
	return appendTree(b, n, r.dirty, skip)
}

// appendBox appends an outbox.
func appendBox(b []byte, n Naming, w cluster.WriterID, o outbox.Box) []byte {
	b = n.Any(n.Any(n.Any(n.Any(b, n.Seq(w, o.Seq)), o.Busy), o.Next), o.Tries())
	if o.Pending == nil {
		return append(b, 0)
	}
	return n.Entry(n.Any(n.Any(append(b, 1), o.Pending.Known), o.Pending.Maybe), o.Pending.Entry)
}

func appendTree[V any](b []byte, n Naming, t tree[V], skip []string) []byte {
	t.Each(func(k string, v V) bool {
		b = n.Any(n.Any(append(b, 1), k), v, skip...)
		return true
	})
	return append(b, 0)
}

// AppendEffect appends what an effect asks for.
func AppendEffect(b []byte, e member.Effect, n Naming) []byte {
	switch e := e.(type) {
	case member.ReadLog:
		return append(b, 'l')
	case member.Append:
		return n.Entry(append(b, 'a'), e.Entry)
	case Put:
		return n.Any(append(b, 'p'), e, Unkeyed()...)
	}
	return n.Any(append(b, 'e'), e, Unkeyed()...)
}

// AppendEvent appends what an event says.
func AppendEvent(b []byte, ev member.Event, n Naming) []byte { return n.Any(b, ev, Unkeyed()...) }

// AppendValue appends what of the value decides what it does next, besides who is in it and owns what.
func AppendValue(b []byte, v *cluster.Value, n Naming) []byte {
	l, _ := v.Leader()
	b = n.Any(b, struct {
		Writer cluster.WriterID
		Term   uint64
	}{l.Writer, l.Term})
	for m := range v.Members() {
		b = n.Any(b, [2]bool{m.Draining, m.Revoked})
	}
	for p := range v.Partitions() {
		b = n.Any(b, p.Offered)
	}
	return b
}

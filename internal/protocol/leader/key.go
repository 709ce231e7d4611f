package leader

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/protocol/member"
)

// AppendKey appends what decides this member's future, for those who walk all its states: states with equal keys do the same from now on, as long as they
// have equal Params, their values are alike, and nobody's history diverges. Fields that decide nothing, or follow from the rest, are skipped.
func (s State) AppendKey(b []byte, n member.Naming, skip ...string) []byte {
	at, r := &step{&s}, s.rule
	probing := slices.SortedFunc(slices.Values(s.probing), func(a, b probe) int { return strings.Compare(a.key, b.key) })
	for _, x := range []any{
		s.Is, s.At, s.Life, s.Stop, s.Inc, s.admitted, s.claims, s.Own, s.Pace, s.mailbox, s.head, s.fetch, s.roster, s.asks, s.fold, s.fold.Out.Next, s.asks.Next, s.vote, s.heartbeats, s.swept,
		probing, s.Reports, s.Behind(), s.Given.Version == 0, s.Given, s.work.Duties, s.changed, s.watching, s.Wake, s.busy, s.rest, s.Contact.Problem != "", s.Contact.Refuses,
		r.at, r.term, r.boxes.look, r.plans, r.offers, r.holds, r.listed, r.patrol, r.patrols,
	} {
		b = n.Any(b, x, skip...)
	}
	b = member.AppendBox(member.AppendBox(b, n, at.asker(), s.asks.Box), n, s.Writer(), s.fold.Out)
	b = appendTree(b, n, s.slots, skip)
	b = appendTree(b, n, r.boxes.all, skip)
	b = appendTree(b, n, r.docs, skip)
	return appendTree(b, n, r.dirty, skip)
}

func appendTree[V any](b []byte, n member.Naming, t tree[V], skip []string) []byte {
	t.Each(func(k string, v V) bool {
		b = n.Any(n.Any(append(b, 1), k), v, skip...)
		return true
	})
	return append(b, 0)
}

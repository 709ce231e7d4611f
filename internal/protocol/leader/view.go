package leader

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// Phase names where the member is: claim, heartbeat, join, joined, confirm, removed, leaving, gone or halted.
func (s State) Phase() string {
	return [...]string{"", "claim", "heartbeat", "join", "joined", "confirm", "removed", "leaving", "gone", "halted"}[s.Is]
}

// Rule names the member's state as a leader: none, claimed, adopting or ruling.
func (s State) Rule() string { return [...]string{"none", "claimed", "adopting", "ruling"}[s.rule.at] }

// Value is the newest value that the member has: the whole one where it folds the log, else its excerpt; see [State.Whole].
func (s State) Value() cluster.Value {
	if s.Whole() {
		return s.fold.Value
	}
	return *s.light
}

// Whole reports whether Value is the whole value, and not an excerpt with all members and the tasks of this one.
func (s State) Whole() bool { return s.fold.Whole() }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	out := s.fold.Status(&s.Core, s.Is == member.PhaseMember)
	out.Pending, out.Light, out.Refused = len(s.asks.Queue), !s.Whole(), out.Refused+s.asks.Refused
	return out
}

// Watching are the prefixes that the store is asked to tell of, and whether it is asked to tell of the log.
func (s State) Watching() (prefixes []string, log bool) {
	return strings.Fields(s.watching), s.fold.watched
}

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

package leader

import (
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

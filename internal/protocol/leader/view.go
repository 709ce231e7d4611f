package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Value is the newest value that the member has: the whole one where it folds the log, else its excerpt; see
// [State.Whole].
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
	out := s.fold.Status(&s.Core)
	out.Pending, out.Light, out.Refused = len(s.asks.Queue), !s.Whole(), out.Refused+s.asks.Refused
	return out
}

// Watching are the prefixes that the store is asked to tell of, and whether it is asked to tell of the log.
func (s State) Watching() (prefixes []string, log bool) {
	at := &step{&s}
	prefixes, log = []string{leaderPrefix, rosterPrefix, headFolder(s.Member)}, at.folds()
	if s.asks.Pending != nil {
		prefixes = append(prefixes, planFolder(at.asker()))
	}
	if log {
		prefixes = append(prefixes, MailboxPrefix)
	}
	if s.rule.at != ruleNone {
		prefixes = append(prefixes, planPrefix)
	}
	return prefixes, log
}

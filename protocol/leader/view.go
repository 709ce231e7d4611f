package leader

import (
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Phase names where the member is: claim, heartbeat, join, joined, confirm, removed, leaving, gone or halted.
func (s State) Phase() string {
	return [...]string{"claim", "heartbeat", "join", "joined", "confirm", "removed", "leaving", "gone", "halted"}[s.phase]
}

// Rule names the member's state as a leader: none, claimed, adopting or ruling.
func (s State) Rule() string { return [...]string{"none", "claimed", "adopting", "ruling"}[s.rule.at] }

// Value is the newest value that the member has: the whole one where it folds the log, else its excerpt; see [State.Whole].
func (s State) Value() cluster.Value {
	if s.Whole() {
		return *s.fold.value
	}
	return *s.light
}

// Whole reports whether Value is the whole value, and not an excerpt with all members and the tasks of this one.
func (s State) Whole() bool { return s.fold.Began && s.fold.value.Index() >= s.fold.Ready }

// Assigned is what the member has told its supervisor last.
func (s State) Assigned() protocol.Assignment { return s.assigned }

// Now is the newest instant that the member has seen.
func (s State) Now() protocol.Instant { return s.now }

// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
func (s State) Tenure() (cluster.Incarnation, protocol.Instant) {
	if s.phase != phaseMember {
		return 0, 0
	}
	return s.inc, s.assigned.ValidUntil
}

// TTL is for how long others wait when the member is silent: what its last acknowledged renewal states, or what the next one will, if that is longer.
func (s State) TTL() time.Duration { return max(s.renewal.TTL, s.pace.TTL(s.p.timing())) }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	return protocol.Status{Joined: s.phase == phaseMember, StoreError: s.contact.Problem, TTLMS: s.p.timing().Lengthened(s.TTL()), Pending: len(s.asks.Queue), Light: !s.Whole(), Foreign: s.fold.History.Foreign, Refused: s.rule.out.Refused + s.asks.Refused}
}

// Watching are the prefixes that the store is asked to tell of, and whether it is asked to tell of the log.
func (s State) Watching() (prefixes []string, log bool) {
	return strings.Fields(s.watching), s.fold.watched
}

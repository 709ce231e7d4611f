package call

import (
	"slices"
	"time"

	"github.com/rota-run/rota/protocol"
)

// sight is a page as it was first seen.
type sight struct {
	sum   uint64
	since protocol.Instant
}

// fate is what a sweeper does to a page.
type fate uint8

const (
	stay      fate = iota // it is remembered as it was seen first
	changed               // it is remembered as it is now
	abandoned             // the head goes
	expired               // outcomes that nobody collects go, and calls whose submission was given up
)

// fateOf decides by how long a page has been what it is. known: it was seen before.
func fateOf(before sight, known bool, now sight, calls int, retention time.Duration) fate {
	age := now.since.Sub(before.since)
	switch {
	case !known || before.sum != now.sum:
		return changed
	case calls == 0 && age >= pageRest:
		return abandoned
	case age >= retention:
		return expired
	}
	return stay
}

// expires reports whether a call of a page that has expired goes.
func expires(r Record, number int, void []int) bool {
	return r.State.Final() || r.State == Queued && r.Token == 0 && slices.Contains(void, number)
}

// conclusion tells whoever waits how the call ended, if it has, and whether the document is then of no further use.
func (r Record) conclusion() (out Outcome, ended, collect bool) {
	out, ended = r.Ended()
	return out, ended, ended && r.State.Final()
}

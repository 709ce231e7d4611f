package duty

import (
	"iter"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Holds are the held members with the instants at which they were first seen held, by the member's own clock.
type Holds []Hold

// Hold is one of them. Members that joined at the same index have the same incarnation: the name distinguishes them.
type Hold struct {
	Member      cluster.MemberID
	Incarnation cluster.Incarnation
	Since       protocol.Instant
}

// Release returns the commands that free the grants of members that are held for long enough. Members that are not held are skipped.
func (h Holds) Release(members iter.Seq[cluster.Member], now protocol.Instant, limit time.Duration) ([]cluster.Command, Holds) {
	var out []cluster.Command
	var next Holds
	for m := range members {
		if m.State != cluster.MemberHeld {
			continue
		}
		at := Hold{m.ID, m.Incarnation, now}
		if i := slices.IndexFunc(h, func(h Hold) bool { return h.Member == m.ID && h.Incarnation == m.Incarnation }); i >= 0 {
			at = h[i]
		}
		next = append(next, at)
		if now.Sub(at.Since) >= limit {
			out = append(out, cluster.ReleaseHold{Member: m.ID, Incarnation: m.Incarnation})
		}
	}
	return out, next
}

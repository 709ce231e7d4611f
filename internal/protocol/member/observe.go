package member

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/store"
)

// Heartbeat is one of a list.
type Heartbeat struct {
	Key     string
	Version store.Version
	TTL     time.Duration // as stated by its owner
}

// Listed takes in a list of heartbeats, and which members of a value it lacks. Rare: lists are, so that it counts when
// they were made.
func (c *Core) Listed(all heartbeat.Observations, list []Heartbeat, v cluster.Value, rare bool) heartbeat.Observations {
	next, there := make(heartbeat.Observations, 0, len(list)), make(map[string]bool, len(list))
	for _, h := range list {
		there[h.Key] = true
		o := all.Of(h.Key).InList(h.Version, h.TTL, c.At)
		if rare {
			o.Seen = c.At
		}
		next = append(next, o)
	}
	for m := range v.Members() {
		if !there[m.Heartbeat] && m.State != cluster.MemberHeld {
			next = append(next, all.Of(m.Heartbeat).NotInList())
		}
	}
	slices.SortFunc(next, func(a, b heartbeat.Observation) int { return strings.Compare(a.Key, b.Key) })
	return next
}

// Strays are heartbeats that belong to nobody: left by processes that died before they joined, or after they were
// removed.
func (c *Core) Strays(all heartbeat.Observations, v cluster.Value) (out []heartbeat.Observation) {
	owned := make(map[string]bool, len(all))
	for m := range v.Members() {
		owned[m.Heartbeat] = true
	}
	for _, o := range all {
		if !owned[o.Key] && o.Key != c.Own.Key && o.Version != "" && c.At.Sub(o.Since) >= 4*c.Silence(o) {
			out = append(out, o)
		}
	}
	return out
}

// Reason is why the owner of a heartbeat is counted out.
func (c *Core) Reason(o heartbeat.Observation) string {
	found := "its heartbeat was not renewed"
	if o.Gone() {
		found = "its heartbeat is gone"
	}
	return o.Reason(found, c.Silence(o))
}

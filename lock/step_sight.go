package lock

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// drift is how much the clocks of two machines may differ in rate, in thousandths.
const drift = 50

// trustOf is for how long a process trusts its pulse, counted from before it sent the last renewal that was acknowledged.
func trustOf(ttl time.Duration) time.Duration { return ttl*(1000-drift)/1000 - ttl/20 }

// silenceOf is for how long others must have seen the same version of a pulse before they count its process out.
func silenceOf(ttl time.Duration) time.Duration { return ttl*(1000+drift)/1000 + ttl/20 }

// sighting is what is known of the pulse of another process.
type sighting struct {
	key     string
	version store.Version    // "" when there is none
	since   protocol.Instant // when we first saw this version
	looked  protocol.Instant // an instant before a read that proves that it is still this version
	known   bool             // read at least once
}

// look takes in a read of the pulse that was sent at an instant and answered now.
func (g sighting) look(version store.Version, sent, now protocol.Instant) sighting {
	if !g.known || g.version != version {
		g.version, g.since = version, now
	}
	g.known, g.looked = true, max(sent, g.since)
	return g
}

// dead: the process has ended, or has provably stopped trusting this pulse. It stays so, since a pulse is never taken up again.
func (g sighting) dead(ttl time.Duration) bool {
	return g.known && (g.version == "" || g.looked.Sub(g.since) >= silenceOf(ttl))
}

// due is when to look again: from time to time, and at the end of a silence.
func (g sighting) due(ttl, pause time.Duration) protocol.Instant {
	if !g.known {
		return 0
	}
	if end := g.since.Add(silenceOf(ttl)); end > g.looked {
		return min(end, g.looked.Add(pause))
	}
	return g.looked.Add(pause)
}

// sightings are sorted by key and never changed: a new one is a new slice.
type sightings []sighting

func (all sightings) of(key string) sighting {
	if i, ok := all.find(key); ok {
		return all[i]
	}
	return sighting{key: key}
}

func (all sightings) find(key string) (int, bool) {
	return slices.BinarySearchFunc(all, key, func(g sighting, k string) int { return strings.Compare(g.key, k) })
}

func (all sightings) with(g sighting) sightings {
	i, ok := all.find(g.key)
	if ok {
		next := slices.Clone(all)
		next[i] = g
		return next
	}
	return slices.Insert(slices.Clone(all), i, g)
}

// newer joins what two claims of one process have seen: of each pulse the look that was sent later.
func (all sightings) newer(others sightings) sightings {
	for _, g := range others {
		if mine := all.of(g.key); !mine.known || mine.looked < g.looked {
			all = all.with(g)
		}
	}
	return all
}

// recent leaves out what nobody has looked at since an instant.
func (all sightings) recent(since protocol.Instant) sightings {
	return slices.DeleteFunc(slices.Clone(all), func(g sighting) bool { return g.looked < since })
}

package heartbeat

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/protocol"
)

// Observations are sorted by key and never changed: a change makes a new slice.
type Observations []Observation

// Of returns the observation of a key; for an unknown key, only the key.
func (all Observations) Of(key string) Observation {
	if i, ok := all.find(key); ok {
		return all[i]
	}
	return Observation{Key: key}
}

func (all Observations) find(key string) (int, bool) {
	return slices.BinarySearchFunc(all, key, func(o Observation, k string) int { return strings.Compare(o.Key, k) })
}

// With replaces or adds an observation.
func (all Observations) With(o Observation) Observations {
	i, ok := all.find(o.Key)
	next := slices.Clone(all)
	if ok {
		next[i] = o
		return next
	}
	return slices.Insert(next, i, o)
}

// Newer merges the observations of two watchers of one process. For each heartbeat it keeps the read that was sent later.
func (all Observations) Newer(others Observations) Observations {
	for _, o := range others {
		if mine := all.Of(o.Key); !mine.Known || mine.Looked < o.Looked {
			all = all.With(o)
		}
	}
	return all
}

// Recent removes observations without a read since an instant.
func (all Observations) Recent(since protocol.Instant) Observations {
	return slices.DeleteFunc(slices.Clone(all), func(o Observation) bool { return o.Looked < since })
}

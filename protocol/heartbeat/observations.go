package heartbeat

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/protocol"
)

// Observations are sorted by key and never changed: another one is a new slice.
type Observations []Observation

// Of returns what is known of a heartbeat; of an unknown one, its key alone.
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

// Newer joins what two watchers of one process have seen: of each heartbeat the read that was sent later.
func (all Observations) Newer(others Observations) Observations {
	for _, o := range others {
		if mine := all.Of(o.Key); !mine.Known || mine.Looked < o.Looked {
			all = all.With(o)
		}
	}
	return all
}

// Recent leaves out what was not read since an instant.
func (all Observations) Recent(since protocol.Instant) Observations {
	return slices.DeleteFunc(slices.Clone(all), func(o Observation) bool { return o.Looked < since })
}

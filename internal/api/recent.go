package api

import (
	"strconv"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
)

// looks is the value as streams see it: one look serves all of them for a while. Where the store hangs streams alone wait.
type looks struct {
	mu    sync.Mutex
	at    time.Time
	value cluster.Value
}

// now is the value, at most so old.
func (l *looks) now(look func() cluster.Value, old time.Duration) cluster.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) >= old {
		l.value, l.at = look(), time.Now()
	}
	return l.value
}

// recent keeps some values by their index. The zero value is ready.
type recent struct {
	mu     sync.Mutex
	values []cluster.Value // oldest first
}

func (r *recent) keep(v cluster.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.values); n > 0 && r.values[n-1].Index() >= v.Index() {
		return
	}
	r.values = append(r.values, v)
	if len(r.values) > maxRecent {
		r.values = append([]cluster.Value(nil), r.values[1:]...)
	}
}

// find is the value of an event's identifier.
func (r *recent) find(id string) (cluster.Value, bool) {
	index, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return cluster.Value{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.values {
		if uint64(v.Index()) == index {
			return v, true
		}
	}
	return cluster.Value{}, false
}

package node

import (
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// absence is what this process has seen of times in which nobody runs a task, by its own clock: when a member went, and since when a partition waits. What lies
// before its first look it cannot know.
type absence struct {
	mu     sync.Mutex
	looked protocol.Instant // first
	last   protocol.Instant // full look at what waits
	here   map[cluster.MemberID]bool
	gone   map[cluster.MemberID]protocol.Instant
	waits  map[cluster.PartitionID]wait
}

// wait is since when a partition was seen without an owner; seen is false where it may have begun earlier.
type wait struct {
	at   protocol.Instant
	seen bool
}

// The bounds of a look: it is made for each entry, and 100,000 tasks may wait.
const (
	fewWait   = 1000
	lookAtAll = time.Second
	mostGone  = 1000
)

// look compares a value with the one before.
func (a *absence) look(v cluster.Value, self cluster.MemberID, now protocol.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	here := make(map[cluster.MemberID]bool, len(a.here))
	for m := range v.Members() {
		if m.State != cluster.MemberHeld {
			here[m.ID] = true
			delete(a.gone, m.ID)
		}
	}
	if a.gone == nil || len(a.gone) > mostGone {
		a.gone = make(map[cluster.MemberID]protocol.Instant) // what is forgotten is unknown
	}
	for m := range a.here { // order-free: each by itself
		if !here[m] {
			a.gone[m] = now
		}
	}
	first := a.here == nil
	if first {
		a.looked = now
	}
	a.here = here
	a.lookWaiting(v, self, now, first)
}

func (a *absence) lookWaiting(v cluster.Value, self cluster.MemberID, now protocol.Instant, first bool) {
	if n := v.Unplaced(); n == 0 && len(a.waits) == 0 || max(n, len(a.waits)) > fewWait && now.Sub(a.last) < lookAtAll {
		return
	}
	a.last = now
	waits := make(map[cluster.PartitionID]wait)
	for id := range v.EachUnplaced() {
		w, ok := a.waits[id]
		if !ok {
			w = wait{now, !first}
		}
		waits[id] = w
	}
	for id, w := range a.waits { // order-free: each by itself
		if p, ok := v.Partition(id); ok && p.Owner == self {
			waits[id] = w // until it runs here
		}
	}
	a.waits = waits
}

// before returns for how long nobody has run a partition that this member runs from now on, its former owner's silence left out. Known is false where that began
// before anybody here looked: then it is at least so long.
func (a *absence) before(p cluster.PartitionID, from, self cluster.MemberID, now protocol.Instant) (d time.Duration, known, handed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w, waited := a.waits[p]
	delete(a.waits, p)
	went, gone := a.gone[from]
	switch {
	case gone && (!waited || went < w.at || !w.seen):
		return now.Sub(went), true, false
	case waited:
		return now.Sub(w.at), w.seen, false
	case from == self || !a.here[from]:
		return now.Sub(a.looked), false, false
	}
	return 0, true, true // from one member to the next
}

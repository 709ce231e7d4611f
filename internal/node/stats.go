package node

import (
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

// stats counts what happened to this member, and remembers which moves were told: a run that starts again under the
// same token is no move.
type stats struct {
	mu   sync.Mutex
	bad  map[string]bool // definitions that cannot be used
	told map[cluster.PartitionID]cluster.Token
	idle map[cluster.PartitionID]protocol.Instant // since when this member does not run what it ran, and was not told to
	most int                                      // entries of told at which it is swept
	sum  sums
}

type sums struct {
	moves, removals, losses, malformed int64

	longest   time.Duration
	gap, late supervisor.Histogram
}

func newStats() *stats {
	return &stats{told: make(map[cluster.PartitionID]cluster.Token), bad: make(map[string]bool),
		idle: make(map[cluster.PartitionID]protocol.Instant)}
}

// minTold is how many told moves are remembered at least.
const minTold = 20_000

// first tells whether a partition starts under this token for the first time. Now and then it asks what this member
// owns, and forgets all else.
func (s *stats) first(p cluster.PartitionID, token cluster.Token, owned func() func(cluster.PartitionID) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[p] == token {
		return false
	}
	s.told[p] = token
	if len(s.told) > max(s.most, minTold) {
		owns := owned()
		for old := range s.told {
			if old != p && !owns(old) {
				delete(s.told, old)
				delete(s.idle, old)
			}
		}
		s.most = 2 * len(s.told)
	}
	return true
}

// stopped remembers since when a partition is not run.
func (s *stats) stopped(p cluster.PartitionID, until protocol.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle[p] = until
}

// startsAgain returns for how long this member has not run a partition, and false if it did not run it before.
func (s *stats) startsAgain(p cluster.PartitionID, now protocol.Instant) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, ok := s.idle[p]
	delete(s.idle, p)
	return now.Sub(since), ok
}

func (s *stats) move() { s.count(func(n *sums) { n.moves++ }) }

// gap counts a time in which nobody ran a partition.
func (s *stats) gap(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.longest = max(s.sum.longest, d)
	s.sum.gap.Add(max(d, 0))
}

// atLeast counts a gap whose beginning nobody has seen: the longest one is not shorter.
func (s *stats) atLeast(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.longest = max(s.sum.longest, d)
}

// definition counts what the source says of one.
func (s *stats) definition(r journal.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Kind {
	case journal.Malformed:
		s.bad[r.Partition] = true
	case journal.Recovered, journal.TaskRemoved:
		delete(s.bad, r.Partition)
	}
	s.sum.malformed = int64(len(s.bad))
}

func (s *stats) count(n func(*sums)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n(&s.sum)
}

func (s *stats) read() sums {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum
}

// absence is what this process has seen of times in which nobody runs a task, by its own clock: when a member went, and
// since when a partition waits. What lies before its first look it cannot know.
type absence struct {
	mu     sync.Mutex
	looked protocol.Instant // first
	last   protocol.Instant // full look at what waits
	here   map[cluster.MemberID]bool
	gone   map[cluster.MemberID]protocol.Instant
	waits  map[cluster.PartitionID]waiting
	runs   map[cluster.PartitionID]bool // here: a value that says otherwise is older
}

// waiting is since when a partition was seen without an owner; seen is false where it may have begun earlier.
type waiting struct {
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
	waits := make(map[cluster.PartitionID]waiting)
	for id := range v.EachUnplaced() {
		if a.runs[id] {
			continue
		}
		w, ok := a.waits[id]
		if !ok {
			w = waiting{now, !first}
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

// before returns for how long nobody has run a partition that this member runs from now on, its former owner's silence
// left out. Known is false where that began before anybody here looked: then it is at least so long.
func (a *absence) before(p cluster.PartitionID, from, self cluster.MemberID,
	now protocol.Instant) (d time.Duration, known, handed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w, waited := a.waits[p]
	delete(a.waits, p)
	if a.runs == nil {
		a.runs = make(map[cluster.PartitionID]bool)
	}
	a.runs[p] = true
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

// ended notes that a partition runs here no longer.
func (a *absence) ended(p cluster.PartitionID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs, p)
}

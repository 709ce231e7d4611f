package node

import (
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// tally counts what happened to this member, and remembers which moves were told: a run that starts again under the same
// token is no move.
type tally struct {
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
	gap, late work.Histogram
}

func newTally() *tally {
	return &tally{told: make(map[cluster.PartitionID]cluster.Token), bad: make(map[string]bool), idle: make(map[cluster.PartitionID]protocol.Instant)}
}

// minTold is how many told moves are remembered at least.
const minTold = 20_000

// first tells whether a partition starts under this token for the first time. Now and then it asks what this member owns, and forgets all else.
func (t *tally) first(p cluster.PartitionID, token cluster.Token, owned func() func(cluster.PartitionID) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told[p] == token {
		return false
	}
	t.told[p] = token
	if len(t.told) > max(t.most, minTold) {
		owns := owned()
		for old := range t.told {
			if old != p && !owns(old) {
				delete(t.told, old)
				delete(t.idle, old)
			}
		}
		t.most = 2 * len(t.told)
	}
	return true
}

// stopped remembers since when a partition is not run.
func (t *tally) stopped(p cluster.PartitionID, until protocol.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle[p] = until
}

// startsAgain returns for how long this member has not run a partition, and false if it did not run it before.
func (t *tally) startsAgain(p cluster.PartitionID, now protocol.Instant) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	since, ok := t.idle[p]
	delete(t.idle, p)
	return now.Sub(since), ok
}

func (t *tally) move() { t.count(func(s *sums) { s.moves++ }) }

// gap counts a time in which nobody ran a partition.
func (t *tally) gap(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.longest = max(t.sum.longest, d)
	t.sum.gap.Add(max(d, 0))
}

// atLeast counts a gap whose beginning nobody has seen: the longest one is not shorter.
func (t *tally) atLeast(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.longest = max(t.sum.longest, d)
}

// definition counts what the source says of one.
func (t *tally) definition(r journal.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Kind {
	case journal.Malformed:
		t.bad[r.Partition] = true
	case journal.Recovered, journal.TaskRemoved:
		delete(t.bad, r.Partition)
	}
	t.sum.malformed = int64(len(t.bad))
}

func (t *tally) count(n func(*sums)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n(&t.sum)
}

func (t *tally) read() sums {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}

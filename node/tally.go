package node

import (
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
)

// tally counts what happened to this member, and remembers which moves were told: a run that starts again under the same
// token is no move.
type tally struct {
	mu   sync.Mutex
	told map[cluster.PartitionID]cluster.Token
	most int // entries of told at which it is swept
	sum  sums
}

type sums struct {
	moves, removals, losses int64
	gaps, longest           time.Duration
}

func newTally() *tally { return &tally{told: make(map[cluster.PartitionID]cluster.Token)} }

// minTold is how many told moves are remembered at least.
const minTold = 1000

// first tells whether a partition starts under this token for the first time. What is not owned any more is forgotten now and then.
func (t *tally) first(p cluster.PartitionID, token cluster.Token, owns func(cluster.PartitionID) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told[p] == token {
		return false
	}
	t.told[p] = token
	if len(t.told) > max(t.most, minTold) {
		for old := range t.told {
			if old != p && !owns(old) {
				delete(t.told, old)
			}
		}
		t.most = 2 * len(t.told)
	}
	return true
}

func (t *tally) move(gap *int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.moves++
	if gap != nil {
		d := time.Duration(*gap) * time.Millisecond
		t.sum.gaps += max(d, 0)
		t.sum.longest = max(t.sum.longest, d)
	}
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

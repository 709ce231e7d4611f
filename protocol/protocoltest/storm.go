package protocoltest

import (
	"cmp"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
)

// seedVariable repeats a storm. What happens is still up to the machine, but the faults and their order are the same.
const seedVariable = "ROTA_PROTOCOLTEST_SEED"

// stormTime is how long links break in a storm.
const stormTime = 15 * time.Second

// Storm tells one more story, for handles with Break: four members run twelve tasks while the way of each to the store
// breaks again and again in all ways, for less and for more than the TTL, and one of them dies and comes back. The
// ledger watches as in every story; when the storm is over, all members run their share again.
func Storm(t *testing.T, s Setup) {
	seed := cmp.Or(s.Seed, rand.Uint64())
	if text := os.Getenv(seedVariable); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q: want a number", seedVariable, text)
		}
		seed = n
	}
	t.Logf("%s=%d", seedVariable, seed)
	s.play(t, func(w *world) { w.storm(seed) })
}

func (w *world) storm(seed uint64) {
	ids := []cluster.MemberID{"a", "b", "c", "d"}
	shares := map[cluster.MemberID]int{"a": 3, "b": 3, "c": 3, "d": 3}
	w.start(ids...)
	w.tasks("a", 12)
	w.shares(shares)
	w.blow(seed, ids[:3])
	w.shares(shares)
	w.t.Logf("%d starts of tasks", w.ledger.begun())
}

// blow breaks the links of members for a while; d keeps its link, and dies and comes back.
func (w *world) blow(seed uint64, ids []cluster.MemberID) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	for i, id := range ids {
		h := w.handles[id]
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for !passes(over, time.Duration(100+r.IntN(1200))*time.Millisecond) {
				what := h.Break(r.Uint64())
				begun := time.Now()
				passes(over, time.Duration(r.Int64N(int64(2*w.setup.TTL))))
				h.Away(false)
				w.t.Logf("%s: %s for %v", id, what, time.Since(begun).Round(time.Millisecond))
			}
		})
	}
	passes(over, stormTime/3)
	w.peers["d"].die()
	passes(over, stormTime/3)
	w.start("d")
	passes(over, stormTime/3)
	close(over)
	wg.Wait()
}

// passes waits, and tells whether it is over.
func passes(over <-chan struct{}, d time.Duration) bool {
	select {
	case <-over:
		return true
	case <-time.After(d):
		return false
	}
}

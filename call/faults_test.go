package call_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/store/faults"
)

// counter counts how often each argument was run.
type counter struct {
	mu   sync.Mutex
	runs map[int]int
}

func (c *counter) function(name string) call.Func[int, int] {
	return call.NewFunc(name, func(_ context.Context, n int) (int, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.runs[n]++
		return n * n, nil
	}, call.Options{})
}

// faulty fails calls that concern calls of functions, by chance.
func faulty(t *testing.T, s *crowd, seed uint64, shares map[faults.Outcome]int) *faults.Faulty {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	order := []faults.Outcome{faults.Refused, faults.LostRequest, faults.LostReply, faults.Late}
	f := faults.NewFaulty(s.Open(), func(c faults.Call) faults.Outcome {
		n := r.IntN(100) // called by one goroutine at a time
		if !strings.HasPrefix(c.Key, "call") {
			return faults.Pass
		}
		for _, o := range order {
			if n -= shares[o]; n < 0 {
				return o
			}
		}
		return faults.Pass
	})
	t.Cleanup(func() { f.Release() })
	return f
}

// Answers get lost, requests get lost, writes are made late, the store refuses: as long as no member loses its lease,
// each call that was submitted runs exactly once and gives its result exactly once; one whose submission was answered
// by an error runs at most once.
func TestLostAnswersNeitherLoseNorDoubleACall(t *testing.T) {
	virtual.Seeds(t, 20, func(t *testing.T, seed uint64) {
		s := newCrowd(t)
		runs := &counter{runs: make(map[int]int)}
		square := runs.function("square")
		shares := map[faults.Outcome]int{faults.Refused: 4, faults.LostRequest: 6, faults.LostReply: 12, faults.Late: 6}
		var stores []*faults.Faulty
		for i := range 3 {
			f := faulty(t, s, seed*10+uint64(i), shares)
			stores = append(stores, f)
			if i < 2 {
				s.join(f, cluster.MemberID(fmt.Sprintf("m%d", i)), 8, square)
			}
		}
		c := client(t, stores[2], "c")
		release, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			tick := time.NewTicker(7 * time.Millisecond)
			defer tick.Stop()
			for release.Err() == nil {
				for _, f := range stores {
					f.Release()
				}
				<-tick.C
			}
		})
		defer wg.Wait()
		defer stop()
		const calls = 150
		refused := make(map[int]bool)
		n := 0
		for got, err := range square.Map(t.Context(), c, count(calls), 20) {
			switch {
			case err != nil && strings.Contains(err.Error(), "submit"):
				refused[n] = true
			case err != nil || got != n*n:
				t.Errorf("%d: got %d, %v", n, got, err)
			}
			n++
		}
		runs.mu.Lock()
		defer runs.mu.Unlock()
		for i := range calls {
			if r := runs.runs[i]; r > 1 || r == 0 && !refused[i] {
				t.Errorf("%d ran %d times, refused: %v", i, r, refused[i])
			}
		}
		if n != calls || len(refused) > calls/2 {
			t.Errorf("%d results, %d of them refused", n, len(refused))
		}
		for o := faults.Refused; o <= faults.Late; o++ {
			if stores[0].Count(o)+stores[1].Count(o) == 0 || stores[2].Count(o) == 0 {
				t.Errorf("outcome %d was never played", o)
			}
		}
	})
}

package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/store"
)

// Seeds are printed; this variable repeats one.
const seedVariable = "ROTA_STORETEST_SEED"

// storm is a run of several clients, of which some go through links that break at random.
type storm struct {
	seed    uint64
	calm    bool // nothing breaks
	h       *history
	stop    chan struct{}
	clients sync.WaitGroup
	breaks  sync.WaitGroup
	open    atomic.Int64 // calls with an unknown outcome

	mu     sync.Mutex
	counts map[string]int // of faults, by name
}

// calling makes the n-th call of a client.
type calling[S any] func(ctx context.Context, client S, number, n int, r *rand.Rand)

// forever is later than any return: the call may still take effect.
const forever = int64(1) << 60

// stormTime is how long clients work; a test of the suites that are meant to fail shortens it.
var stormTime = 4 * time.Second

func newStorm(t *testing.T) *storm {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q: want a number", seedVariable, text)
		}
		seed = n
	}
	t.Logf("%s=%d", seedVariable, seed)
	return &storm{seed: seed, h: newHistory(), stop: make(chan struct{}), counts: map[string]int{}}
}

// over waits for a little, and reports whether the storm is over.
func (s *storm) over(d time.Duration) bool {
	select {
	case <-s.stop:
		return true
	case <-time.After(d):
		return false
	}
}

// client runs calls, each with a little time, until the storm is over.
func (s *storm) client(ctx context.Context, number int, call func(ctx context.Context, n int, r *rand.Rand)) {
	s.clients.Go(func() {
		r := rand.New(rand.NewPCG(s.seed, uint64(number)))
		for n := 0; !s.over(time.Duration(5+r.IntN(20)) * time.Millisecond); n++ {
			one, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			call(one, n, r)
			cancel()
		}
	})
}

// breaker breaks one link now and then.
func (s *storm) breaker(t *testing.T, number int, link Link) {
	s.breaks.Go(func() {
		r := rand.New(rand.NewPCG(s.seed, 1000+uint64(number)))
		for !s.over(time.Duration(20+r.IntN(400)) * time.Millisecond) {
			s.count(breakOnce(r, link))
			over := s.over(time.Duration(10+r.IntN(250)) * time.Millisecond)
			if r.IntN(2) == 0 {
				link.Cut()
			}
			if err := link.Heal(); err != nil {
				t.Errorf("heal: %v", err)
			}
			if over {
				return
			}
		}
	})
}

func (s *storm) count(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[fault]++
}

// breakOnce breaks a link at random and returns how.
func breakOnce(r *rand.Rand, link Link) string {
	all := outages()
	switch n := r.IntN(len(all) + 4); {
	case n < len(all):
		all[n].make(link)
		return all[n].name
	case n == len(all):
		link.CutRequests(1 + r.Int64N(400))
		return "request cut"
	case n == len(all)+1:
		link.CutReplies(1 + r.Int64N(200))
		return "reply cut"
	case n == len(all)+2:
		link.Delay(20*time.Millisecond, 20*time.Millisecond)
		return "slow"
	}
	link.Reset()
	return "reset"
}

// run lets the storm blow, and returns when all calls have returned and all links are whole.
func (s *storm) run(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-time.After(stormTime):
	case <-ctx.Done():
	}
	close(s.stop)
	s.breaks.Wait()
	s.clients.Wait()
	t.Logf("%d operations, %d of them with unknown outcome; faults %v", len(s.h.ops), s.open.Load(), s.counts)
}

// record notes a call that has returned: nothing where it is known that nothing was done, open-ended where that is unknown.
func (s *storm) record(client int, input any, call func() (output any, err error)) {
	start := time.Since(s.h.began).Nanoseconds()
	output, err := call()
	end := time.Since(s.h.began).Nanoseconds()
	switch {
	case s.calm:
	case errors.Is(err, store.ErrUnknown):
		end = forever
		s.open.Add(1)
	case err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound):
		return
	}
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.ops = append(s.h.ops, porcupine.Operation{ClientId: client, Input: input, Output: output, Call: start, Return: end})
}

// The clients of a storm: the number through their own links, and the number with direct connections. Those of a suite are
// not more.
const (
	stormThrough = 3
	stormDirect  = 3
)

// blow runs clients of both kinds until the storm is over.
func blow[S any](t *testing.T, b *bench[S], s *storm, call calling[S]) {
	t.Helper()
	for i := range stormThrough + stormDirect {
		var handle S
		if i < stormThrough {
			var link Link
			handle, link = b.reach.Through(t)
			s.breaker(t, i, link)
		} else {
			handle = b.reach.Direct(t)
		}
		s.client(b.ctx, i, func(ctx context.Context, n int, r *rand.Rand) { call(ctx, handle, i, n, r) })
	}
	s.run(t, b.ctx)
}

func docsLinearizableFaults[S store.Docs](t *testing.T, b *bench[S]) {
	s := newStorm(t)
	calls, _ := docsCalls[S](s, 6)
	blow(t, b, s, calls)
	s.checkDocs(t, b.ctx, b.witness)
}

func logLinearizableFaults[S store.Log](t *testing.T, b *bench[S]) {
	s := newStorm(t)
	calls := logCalls[S](s)
	blow(t, b, s, calls)
	s.checkLog(t, b.ctx, b.witness)
}

package node

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// ledger is which shares run, and the largest disagreement that was seen.
type ledger struct {
	mu     sync.Mutex
	runs   map[string]bool // "index/count"
	faults []string
}

func (l *ledger) begin(g *work.Grant) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	me := fmt.Sprintf("%d/%d", g.Index, g.Count)
	for other := range l.runs {
		var index, count int64
		_, _ = fmt.Sscanf(other, "%d/%d", &index, &count)
		if count != g.Count || index == g.Index {
			l.faults = append(l.faults, me+" begins beside "+other)
		}
	}
	l.runs[me] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.runs, me)
	}
}

// whole tells whether all shares of n run, each once, and nothing else.
func (l *ledger) whole(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		if !l.runs[fmt.Sprintf("%d/%d", i, n)] {
			return false
		}
	}
	return len(l.runs) == n
}

// cable is a store that can be cut off. A member on it needs NoSessions: they would tell others at once.
func cable(t *testing.T, s *memory.Server) *faults.Faulty {
	t.Helper()
	inner := s.Open()
	t.Cleanup(func() { inner.Close() })
	return faults.NewFaulty(inner, nil)
}

// Three members with slots come one after another, one is cut off and comes back, one leaves and comes back: each time
// every share of the new count runs once, and none runs while one of another count does.
func TestPoolIsRepartitioned(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, l := memory.New(), &ledger{runs: map[string]bool{}}
		poll := work.Type{Name: "poll", New: func(work.Definition) (work.Runner, error) {
			return work.RunnerFunc(func(ctx context.Context, g *work.Grant) error {
				end := l.begin(g)
				defer end()
				<-ctx.Done()
				return context.Cause(ctx)
			}), nil
		}}
		with := func(slots int64) func(*Config) {
			return func(c *Config) { c.Slots, c.Types = slots, work.Types{"poll": poll} }
		}
		a := start(t, s, "a", with(2))
		a.submit("input", cluster.TaskSpec{Type: "poll", Spread: cluster.SpreadPool, Repartition: true})
		await(t, "two shares run", func() bool { return l.whole(2) })
		b := cable(t, s)
		start(t, s, "b", func(c *Config) {
			with(1)(c)
			c.Store, c.NoSessions = b, true
		})
		await(t, "three shares run", func() bool { return l.whole(3) })
		c := start(t, s, "c", with(2))
		await(t, "five shares run", func() bool { return l.whole(5) })
		b.Away(true)
		await(t, "four shares run", func() bool { return l.whole(4) })
		b.Away(false)
		await(t, "five shares run again", func() bool { return l.whole(5) })
		a.leave()
		await(t, "three shares run", func() bool { return l.whole(3) })
		start(t, s, "a", with(1))
		await(t, "four shares run again", func() bool { return l.whole(4) })
		if v := c.Value(); l.faults != nil {
			t.Errorf("%q\n%s", l.faults, v)
		}
	})
}

package node

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// ended waits until the node has ended because it was evicted.
func (b *bundle) ended() {
	b.t.Helper()
	select {
	case err := <-b.done:
		close(b.done)
		var e *protocol.EvictedError
		if !errors.As(err, &e) || e.Member != b.c.Member || e.By != "ann@laptop" {
			b.t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		b.t.Fatal("it was evicted and goes on")
	}
}

// party is two nodes that run four tasks.
type party struct {
	t      *testing.T
	s      *memory.Server
	p      protocol.Protocol
	a, b   *bundle
	cut    atomic.Bool // b has no store
	change func(*Config)
}

func gather(t *testing.T, p protocol.Protocol, change func(*Config)) *party {
	t.Helper()
	w := &party{t: t, s: memory.New(), p: p, change: change}
	w.a = w.start("a")
	w.b = w.start("b")
	for i := range 4 {
		w.a.submit(fmt.Sprint("x", i), cluster.TaskSpec{Type: "stay"})
	}
	w.share(2, 2)
	return w
}

func (w *party) start(name string) *bundle {
	return start(w.t, w.s, name, func(c *Config) {
		c.Protocol = w.p
		if w.change != nil {
			w.change(c)
		}
		if name == "b" {
			c.Store = storetest.NewFaulty(c.Store.(storetest.Full), func(storetest.Call) storetest.Outcome {
				if w.cut.Load() {
					return storetest.Refused
				}
				return storetest.Pass
			})
		}
	})
}

func (w *party) share(a, b int) {
	w.t.Helper()
	await(w.t, fmt.Sprint("they run ", a, " and ", b), func() bool {
		return w.a.Status().Work.Counts.Running == a && (b == 0 || w.b.Status().Work.Counts.Running == b)
	})
}

// evict is what operate.Operator.Evict does.
func (w *party) evict(drain bool) {
	w.t.Helper()
	m, ok := w.a.Whole().Member("b")
	if !ok {
		w.t.Fatal("a knows no b")
	}
	must.Succeed(w.t, KeepEvicted(w.t.Context(), w.a.c.Store, m, "ann@laptop"))
	if drain {
		must.Succeed(w.t, must.Err(w.a.Propose(w.t.Context(), cluster.DrainMember{Member: m.ID, On: true})))
	}
}

// TestEvict: a member that is evicted moves its tasks away and ends, at once; the next start of its name takes part.
func TestEvict(t *testing.T) {
	for _, p := range []protocol.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				w := gather(t, p, nil)
				await(t, "a knows b", func() bool { _, ok := w.a.Whole().Member("b"); return ok })
				began := time.Now()
				w.evict(true)
				w.b.ended()
				w.share(4, 0)
				if took := time.Since(began); took > longTTL/2 {
					t.Errorf("its tasks were free after %v", took)
				}
				w.b = w.start("b")
				w.share(2, 2)
				w.evict(false)          // who asked has died in between
				time.Sleep(time.Minute) // waits: in virtual time
				w.b.leave()
				w.b = w.start("b")
				w.share(2, 2)
				time.Sleep(time.Minute) // waits: in virtual time
				w.share(2, 2)
				if _, err := w.a.c.Store.Get(t.Context(), evictPrefix+"b"); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("what was for a former start is there: %v", err)
				}
			})
		})
	}
}

// TestEvictWhoIsAway: a member that cannot be told is told when it is back, and ends.
func TestEvictWhoIsAway(t *testing.T) {
	for _, p := range []protocol.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				w := gather(t, p, nil)
				await(t, "a knows b", func() bool { _, ok := w.a.Whole().Member("b"); return ok })
				w.cut.Store(true)
				w.evict(true)
				w.share(4, 0)
				await(t, "b has stopped", func() bool { return w.b.Status().Work.Counts.Running == 0 })
				w.cut.Store(false)
				w.b.ended()
				w.share(4, 0)
			})
		})
	}
}

// TestEvictTheDrained: a member that takes no tasks anyway is told, and one that leaves is not waited for.
func TestEvictTheDrained(t *testing.T) {
	for _, p := range []protocol.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				w := gather(t, p, func(c *Config) {
					if p.Name() == "replica" { // it has the longest way to forget a member
						c.Hold = time.Hour
					}
				})
				must.Succeed(t, must.Err(w.a.Propose(t.Context(), cluster.DrainMember{Member: "b", On: true})))
				w.share(4, 0)
				time.Sleep(time.Minute) // waits: in virtual time
				w.evict(true)
				w.b.ended()
				if m, there := w.a.Whole().Member("b"); there && m.State == cluster.MemberHeld {
					t.Errorf("it is %s", m.State)
				}
			})
		})
	}
}

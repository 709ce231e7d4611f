package leader

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/gate"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What every protocol promises, on memory and in virtual time. Storms are of calls that fail at random, in every way
// that a store has; a busy store cannot take as many heartbeats as the usual TTL asks for.
func TestStoriesOnMemory(t *testing.T) { t.Parallel(); protocoltest.StoriesOnMemory(t, Protocol{}) }
func TestStorm(t *testing.T)           { t.Parallel(); protocoltest.StormsOnMemory(t, Protocol{}, true) }
func TestStoriesWithHeartbeatsAlone(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.OnMemory(Protocol{}, true))
}
func TestABusyStore(t *testing.T) { t.Parallel(); protocoltest.BusyStores(t, Protocol{}) }
func TestWhatIsRefusedIsNotSaidForEver(t *testing.T) {
	t.Parallel()
	protocoltest.RefusedOnMemory(t, Protocol{})
}

// TestTimes: silence is noticed in time, and so on, on each kind of store.
func TestTimes(t *testing.T) {
	t.Parallel()
	protocoltest.Times(t, Protocol{}, map[string]float64{
		"memory": 26.5, "as file and PostgreSQL": 26.5, "as etcd, NATS and ZooKeeper": 23.5, "as Elasticsearch": 301,
	})
}

// TestATreeIsWalkedAsItWas: what is set or removed during a walk does not show in it.
func TestATreeIsWalkedAsItWas(t *testing.T) {
	t.Parallel()
	var all tree[int]
	for i := range 500 {
		all.set(fmt.Sprintf("a/%03d", i), i)
		all.set(fmt.Sprintf("b/%03d", i), i)
	}
	next := 0
	for key, v := range all.below("a/") {
		if v != next {
			t.Fatalf("%s comes after %d", key, next-1)
		}
		next++
		all.remove(key)
	}
	if next != 500 || ordered.Len(&all.of) != 500 {
		t.Errorf("walked %d, left %d", next, ordered.Len(&all.of))
	}
}

// TestWhatIsWrittenIsRepaired: an assignment or a head that somebody has removed, changed or replaced by garbage is as
// it should be again, though its value does not change; one that nobody should have is removed. Their owners run what
// they ran, all the time where it was not taken from them.
func TestWhatIsWrittenIsRepaired(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *stage, key, head string){ // order-free: each on a stage of its own
		"removed":      func(s *stage, key, _ string) { s.remove(key) },
		"garbage":      func(s *stage, key, _ string) { s.set(key, "garbage") },
		"no head":      func(s *stage, _, head string) { s.remove(head) },
		"garbage head": func(s *stage, _, head string) { s.set(head, "garbage") },
		"stopped": func(s *stage, _, head string) {
			h := s.docs[head].Value.(headDoc)
			h.Index, h.Tasks = h.Index+100, nil
			s.set(head, h)
		},
		"another token": func(s *stage, key, _ string) {
			d := s.docs[key].Value.(slotDoc)
			d.Token++
			s.set(key, d)
		},
		"of nobody": func(s *stage, key, _ string) {
			d := s.docs[key].Value.(slotDoc)
			d.Task, d.Partition.ID = "stray", "stray"
			s.set(slotKey(d.Member, d.Task), d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := led(t, "a", "b")
			s.ask("b", single("x"), single("y"))
			s.until("each runs one",
				func() bool { return len(s.members["a"].last.Grants) == 1 && len(s.members["b"].last.Grants) == 1 })
			for _, id := range []cluster.MemberID{"a", "b"} {
				task := s.members[id].last.Grants[0].Partition
				key, head, index, stops := slotKey(id, task), headKey(id), s.value().Index(), 0
				want := s.docs[key].Value.(slotDoc).stamp()
				told := s.docs[head].Value.(headDoc)
				spoil(s, key, head)
				s.until(string(id)+" has its assignment again, and no other", func() bool {
					if !s.members[id].runs(task) {
						stops++
					}
					d, _ := s.docs[key].Value.(slotDoc)
					h, ok := s.docs[head].Value.(headDoc)
					return d.stamp() == want && len(s.below(folder(id))) == 1 && s.members[id].runs(task) &&
						ok && len(h.Tasks) == 1 && h.Tasks[0].Token == told.Tasks[0].Token &&
						h.Tasks[0].State == slotActive
				})
				if stops > 0 && name != "stopped" {
					t.Errorf("%s did not run it for a while", id)
				}
				if got := s.value().Index(); got != index {
					t.Errorf("%s: %d entries were needed", id, got-index)
				}
			}
		})
	}
}

// A light member knows all members and its own tasks; a fifth one that leads nobody reads no log. Who has left is gone
// from the roster at an index that proves it.
func TestALightMember(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	ids := []cluster.MemberID{"a", "b", "c", "d", "e"}
	for _, id := range ids[1:] {
		s.start(id, "n0")
		s.until(string(id)+" has joined", s.joined(id))
	}
	var commands []cluster.Command
	for i := range 10 {
		commands = append(commands, single(cluster.JobID(fmt.Sprintf("t%d", i))))
	}
	s.ask("e", commands...)
	e := s.members["e"]
	s.until("each runs two", func() bool {
		for _, id := range ids {
			if len(s.members[id].last.Grants) != 2 {
				return false
			}
		}
		return true
	})
	s.pass(5 * ttl)
	for i, id := range ids {
		if whole := i <= e.p.StandBys; s.members[id].Whole() != whole {
			t.Fatalf("%s folds the log: %t", id, !whole)
		}
	}
	v, members, own := e.Value(), 0, 0
	for range v.Members() {
		members++
	}
	for range v.Partitions() {
		own++
	}
	if members != 5 || own != 2 {
		t.Fatalf("it has %d members and %d tasks\n%s", members, own, v)
	}
	inc := s.members["d"].Inc
	s.kill("d")
	s.until("e knows that d is gone", func() bool {
		_, in := e.Value().Member("d")
		return !in
	})
	if e.Value().Index() < inc {
		t.Fatalf("at index %d it proves nothing about incarnation %d", e.Value().Index(), inc)
	}
}

// A stand-by whose restart is announced is none any more, though the roster has it: the next member follows the log in
// its place.
func TestAStandByThatIsHeld(t *testing.T) {
	t.Parallel()
	s := led(t, "a")
	for _, id := range []cluster.MemberID{"b", "c", "d"} {
		s.start(id, "n0")
		s.until(string(id)+" has joined", s.joined(id))
	}
	b, d := s.members["b"], s.members["d"]
	if d.Whole() {
		t.Fatal("d folds the log before anybody leaves")
	}
	s.ask("b", cluster.LeaveCluster{Member: "b", Incarnation: b.Inc, Hold: true})
	s.until("b is held", func() bool { m, _ := s.value().Member("b"); return m.State == cluster.MemberHeld })
	b.over = true // its process has ended
	s.until("d folds the log", func() bool { return d.Whole() })
	if m, _ := s.value().Member("b"); m.State != cluster.MemberHeld {
		t.Fatal("b is gone: the story is another one")
	}
}

// idleTasks is how many tasks the members of TestIdleMembersAskSeldom have: 10000 for the figures of
// docs/internals/performance.md.
var idleTasks = flag.Int("idle-tasks", 200, "how many tasks of TestIdleMembersAskSeldom")

// counted counts requests as ZooKeeper gets them: a list is one for each document, and one for their names. Its
// sessions expire, as those of ZooKeeper: here nobody dies.
type counted struct {
	*gate.Store
	requests *atomic.Int64
}

func newCounted(s *memory.Store, requests *atomic.Int64) counted {
	return counted{gate.New(s, func(_ context.Context, _, _ string, do func() error) error {
		requests.Add(1)
		return do()
	}, func(ctx context.Context, _, _ string, do func(context.Context) error) error {
		requests.Add(1)
		return do(ctx)
	}), requests}
}

func (c counted) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	docs, err := c.Store.List(ctx, prefix)
	c.requests.Add(int64(len(docs)))
	return docs, err
}

func (counted) SessionsExpire() bool { return true }

// crowd is a cluster in virtual time.
type crowd struct {
	t        *testing.T
	requests atomic.Int64
	members  []protocol.Member
	stop     context.CancelFunc
	all      sync.WaitGroup
}

func newCrowd(t *testing.T, members int, ttl time.Duration) *crowd {
	c := &crowd{t: t}
	server, clock := memory.New(), protocol.NewProcessClock()
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	for i := range members {
		m, err := Protocol{}.New(protocol.Config{
			Member: cluster.MemberID(fmt.Sprintf("m%03d", i)), Store: newCounted(server.Open(), &c.requests), TTL: ttl,
			LeaveTimeout: time.Hour, Clock: clock,
		})
		must.Succeed(t, err)
		c.members = append(c.members, m)
		c.all.Go(func() {
			if err := m.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		c.all.Go(func() {
			for a := range m.Assignments() {
				reports := make([]protocol.Report, 0, len(a.Grants))
				for _, g := range a.Grants {
					reports = append(reports,
						protocol.Report{Partition: g.Partition, Token: g.Token, Attempt: g.Attempt})
				}
				m.Report(a.Version, reports)
			}
		})
		c.until("it has joined", func() bool { return m.Status().Joined })
	}
	return c
}

func (c *crowd) until(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Hour); !holds(); time.Sleep(10 * time.Millisecond) { // waits: in virtual time
		if time.Now().After(end) {
			c.t.Fatalf("not within an hour: %s", what)
		}
	}
}

// active is how many tasks are granted, and are no offers, as the first member sees it.
func (c *crowd) active() (n int) {
	for p := range c.members[0].Value().Partitions() {
		if p.State == cluster.PartitionGranted && !p.Offered {
			n++
		}
	}
	return n
}

func (c *crowd) end() {
	c.stop()
	c.all.Wait()
}

// TestIdleMembersAskSeldom: 100 members make at most 3 requests each in a TTL, and one a second besides. At the end all
// leave at once, and each does so in order: the last ones lead themselves out.
func TestIdleMembersAskSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members, ttl = 100, 10 * time.Second
		c := newCrowd(t, members, ttl)
		defer c.end()
		before, from := c.requests.Load(), time.Now()
		for i := 0; i < *idleTasks; i += 500 {
			var commands []cluster.Command
			for j := i; j < min(i+500, *idleTasks); j++ {
				commands = append(commands, single(cluster.JobID(fmt.Sprintf("t%05d", j))))
			}
			must.Succeed(t, must.Err(c.members[0].Propose(t.Context(), commands...)))
		}
		c.until("all tasks are granted", func() bool { return c.active() == *idleTasks })
		t.Logf("%d tasks placed in %v of virtual time with %d requests", *idleTasks, time.Since(from),
			c.requests.Load()-before)
		time.Sleep(6 * ttl) // waits: in virtual time, until all is quiet
		const span = time.Minute
		before = c.requests.Load()
		time.Sleep(span) // waits: in virtual time
		perSecond := float64(c.requests.Load()-before) / span.Seconds()
		most := 3*members/ttl.Seconds() + 1
		t.Logf("%.1f requests a second, want at most %.1f", perSecond, most)
		if perSecond > most {
			t.Errorf("%.1f requests a second, want at most %.1f", perSecond, most)
		}
	})
}

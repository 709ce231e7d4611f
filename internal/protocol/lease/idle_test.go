package lease

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// For the figures of docs/internals/performance.md: 300 and 10000.
var (
	idleMembers    = flag.Int("idle-members", 20, "how many members TestIdleMembersAskSeldom has")
	idlePartitions = flag.Int("idle-partitions", 400, "how many partitions they have")
)

// trip is how long a call takes in virtual time.
const trip = 5 * time.Millisecond

// plain is a store as Elasticsearch is one: documents, many of which are read in one request, and no hints. It counts requests.
type plain struct {
	protocol.Store
	docs     *memory.Store
	requests *atomic.Int64
}

func (p plain) goes() { p.requests.Add(1); time.Sleep(trip) } // waits: in virtual time

func (p plain) Get(ctx context.Context, key string) (store.Doc, error) {
	p.goes()
	return p.docs.Get(ctx, key)
}

func (p plain) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	p.goes()
	return p.docs.Gets(ctx, keys)
}

func (p plain) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	p.goes()
	return p.docs.List(ctx, prefix)
}

func (p plain) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	p.goes()
	return p.docs.Put(ctx, d)
}

func (p plain) Delete(ctx context.Context, key string, v store.Version) error {
	p.goes()
	return p.docs.Delete(ctx, key, v)
}

// crowd is a cluster in virtual time.
type crowd struct {
	t        *testing.T
	requests atomic.Int64
	members  []protocol.Member
	mu       sync.Mutex
	runs     map[cluster.PartitionID]int // by which member
	stop     context.CancelFunc
	all      sync.WaitGroup
}

func newCrowd(t *testing.T, members int, ttl time.Duration) *crowd {
	t.Helper()
	c := &crowd{t: t, runs: make(map[cluster.PartitionID]int)}
	server, clock := memory.New(), protocol.NewProcessClock()
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	for i := range members {
		h := server.Open()
		m, err := Protocol{}.New(protocol.Config{
			Member: cluster.MemberID(fmt.Sprintf("m%03d", i)), Store: plain{h, h, &c.requests}, TTL: ttl, LeaveTimeout: time.Hour, Clock: clock,
		})
		if err != nil {
			t.Fatal(err)
		}
		c.members = append(c.members, m)
		c.all.Go(func() {
			if err := m.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		c.all.Go(func() { c.work(m, i) })
		c.until("it has joined", func() bool { return m.Status().Joined })
	}
	return c
}

// work notes what a member is to run, and says that it does.
func (c *crowd) work(m protocol.Member, i int) {
	for a := range m.Assignments() {
		reports := make([]protocol.Report, 0, len(a.Grants))
		c.mu.Lock()
		for id, by := range c.runs { // order-free: all are looked at
			if by == i {
				delete(c.runs, id)
			}
		}
		for _, g := range a.Grants {
			c.runs[g.Partition] = i
			reports = append(reports, protocol.Report{Partition: g.Partition, Token: g.Token, Attempt: g.Attempt})
		}
		c.mu.Unlock()
		m.Report(a.Version, reports)
	}
}

// shares are how many partitions each member runs.
func (c *crowd) shares() (by []int, sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by = make([]int, len(c.members))
	for _, i := range c.runs { // order-free: they are counted
		by[i]++
	}
	return by, len(c.runs)
}

func (c *crowd) until(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Hour); !holds(); time.Sleep(10 * time.Millisecond) { // waits: in virtual time
		if time.Now().After(end) {
			c.t.Fatalf("not within an hour: %s", what)
		}
	}
}

// submit submits one job and returns how long it takes until all its partitions run.
func (c *crowd) submit(partitions int) time.Duration {
	c.t.Helper()
	task := cluster.TaskSpec{Type: "none", Spread: cluster.SpreadPartitioned}
	for i := range partitions {
		task.Partitions = append(task.Partitions, strconv.Itoa(i))
	}
	began := time.Now()
	done, err := c.members[0].Propose(c.t.Context(), cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}})
	if err != nil || !done[0].Accepted {
		c.t.Fatal(done, err)
	}
	c.until("all run", func() bool { _, n := c.shares(); return n == partitions })
	return time.Since(began)
}

func (c *crowd) end() {
	c.stop()
	c.all.Wait()
}

// TestIdleMembersAskSeldom: what a cluster at rest costs depends on its members alone: each looks at the board once in a poll and renews its heartbeat, and
// the leader reads all that there is in three requests.
func TestIdleMembersAskSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		c := newCrowd(t, *idleMembers, ttl)
		defer c.end()
		t.Logf("%d partitions run after %v of virtual time", *idlePartitions, c.submit(*idlePartitions))
		time.Sleep(6 * ttl) // waits: in virtual time, until all is quiet
		const span = time.Minute
		before := c.requests.Load()
		time.Sleep(span) // waits: in virtual time
		got := float64(c.requests.Load()-before) / span.Seconds()
		poll := min(ttl/20, time.Second).Seconds()
		most := float64(*idleMembers)*(1/poll+4/ttl.Seconds()) + 3/poll
		t.Logf("%d members with %d partitions: %.1f requests a second, want at most %.1f", *idleMembers, *idlePartitions, got, most)
		if got > most {
			t.Errorf("%.1f requests a second, want at most %.1f", got, most)
		}
	})
}

// TestFreeIsClaimedSoon: four members claim 1,000 free partitions within 5 seconds, and each about as many.
func TestFreeIsClaimedSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members, partitions = 4, 1000
		c := newCrowd(t, members, 10*time.Second)
		defer c.end()
		took := c.submit(partitions)
		by, _ := c.shares()
		t.Logf("after %v of virtual time: %v", took, by)
		if took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		for _, n := range by {
			if n < partitions/members-1 || n > partitions/members+1 {
				t.Errorf("the members run %v of %d", by, partitions)
			}
		}
	})
}

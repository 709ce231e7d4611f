package lease

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/store/gate"
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

// plain is a store as Elasticsearch is one: documents, many of which are read in one request, no hints, and lists that
// show what was. It counts requests.
type plain struct {
	protocol.Store // whose calls take their time
	docs           *memory.Store
	*server
	dead *atomic.Bool // its process
}

func newPlain(s *memory.Store, of *server, dead *atomic.Bool) plain {
	p := plain{docs: s, server: of, dead: dead}
	change := func(ctx context.Context, _, _ string, do func(context.Context) error) error {
		if err := p.goes(); err != nil {
			return err
		}
		return do(ctx)
	}
	p.Store = gate.New(s, func(ctx context.Context, op, key string, do func() error) error {
		return change(ctx, op, key, func(context.Context) error { return do() })
	}, change)
	return p
}

// server is what the handles of a plain store have in common.
type server struct {
	requests atomic.Int64
	away     atomic.Bool
	slow     atomic.Int64 // how much longer a call takes
	mu       sync.Mutex
	listed   []store.Doc // by which lists are answered
	at       time.Time   // when that was true
}

// refresh is how old lists get, as those of Elasticsearch by default.
const refresh = time.Second

// goes takes the time of a call, but for one that meets nobody.
func (p plain) goes() error {
	if p.away.Load() || p.dead.Load() {
		return store.ErrUnavailable
	}
	p.requests.Add(1)
	time.Sleep(trip + time.Duration(p.slow.Load())) // waits: in virtual time
	return nil
}

func (p plain) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	if err := p.goes(); err != nil {
		return nil, err
	}
	return p.docs.Gets(ctx, keys)
}

func (p plain) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := p.goes(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) >= refresh {
		all, err := p.docs.List(ctx, "")
		if err != nil {
			return nil, err
		}
		p.listed, p.at = all, time.Now()
	}
	var docs []store.Doc
	for _, d := range p.listed {
		if strings.HasPrefix(d.Key, prefix) {
			docs = append(docs, d)
		}
	}
	return docs, nil
}

// crowd is a cluster in virtual time.
type crowd struct {
	t       *testing.T
	server  *server
	members []protocol.Member
	docs    *memory.Store
	clock   func() protocol.Instant
	leave   []context.CancelFunc // by member
	dead    []*atomic.Bool       // by member
	mu      sync.Mutex
	runs    map[cluster.PartitionID]int // by which member
	leases  []protocol.Instant          // until when, by member
	stopped map[cluster.PartitionID]time.Time
	gap     time.Duration // the longest between two runs of a partition
	stop    context.CancelFunc
	all     sync.WaitGroup
}

func nameOf(i int) cluster.MemberID { return cluster.MemberID(fmt.Sprintf("m%03d", i)) }

func newCrowd(t *testing.T, members int, ttl time.Duration) *crowd {
	t.Helper()
	c := &crowd{t: t, server: &server{}, runs: make(map[cluster.PartitionID]int),
		stopped: make(map[cluster.PartitionID]time.Time)}
	docs := memory.New()
	c.docs, c.clock, c.leases = docs.Open(), protocol.NewProcessClock(), make([]protocol.Instant, members)
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	for i := range members {
		h, dead := docs.Open(), &atomic.Bool{}
		ctx, leave := context.WithCancel(ctx)
		c.leave, c.dead = append(c.leave, leave), append(c.dead, dead)
		m, err := Protocol{}.New(protocol.Config{
			Member: nameOf(i), Store: newPlain(h, c.server, dead), TTL: ttl, LeaveTimeout: time.Hour, Clock: c.clock,
		})
		must.Succeed(t, err)
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
		c.leases[i] = a.ValidUntil
		for id, by := range c.runs { // order-free: all are looked at
			if by == i {
				delete(c.runs, id)
				c.stopped[id] = time.Now()
			}
		}
		for _, g := range a.Grants {
			if at, ok := c.stopped[g.Partition]; ok {
				c.gap = max(c.gap, time.Since(at))
			}
			c.runs[g.Partition] = i
			reports = append(reports, protocol.Report{Partition: g.Partition, Token: g.Token, Attempt: g.Attempt})
		}
		c.mu.Unlock()
		m.Report(a.Version, reports)
	}
}

// running is how many partitions run, under a lease that is valid and by a member that lives.
func (c *crowd) running() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.runs { // order-free: they are counted
		if c.clock() < c.leases[i] && !c.dead[i].Load() {
			n++
		}
	}
	return n
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
	done, err := c.members[0].Propose(c.t.Context(),
		cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}})
	if err != nil || !done[0].Accepted {
		c.t.Fatal(done, err)
	}
	c.until("all run", func() bool { _, n := c.shares(); return n == partitions })
	return time.Since(began)
}

// longest is the longest gap since it was asked for.
func (c *crowd) longest() (gap time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gap, c.gap = c.gap, 0
	return gap
}

// drain begins a leave, as a node does.
func (c *crowd) drain(i int) {
	c.t.Helper()
	id := nameOf(i)
	if done, err := c.members[i].Propose(c.t.Context(), cluster.DrainMember{Member: id, On: true}); err != nil ||
		!done[0].Accepted {
		c.t.Fatal(done, err)
	}
}

func (c *crowd) end() {
	for _, dead := range c.dead {
		dead.Store(false) // so that it leaves
	}
	c.stop()
	c.all.Wait()
}

// TestIdleMembersAskSeldom: what a cluster at rest costs depends on its members alone: each looks at the board once in
// a poll and renews its heartbeat, and the leader reads all that there is in three requests.
func TestIdleMembersAskSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		c := newCrowd(t, *idleMembers, ttl)
		defer c.end()
		t.Logf("%d partitions run after %v of virtual time", *idlePartitions, c.submit(*idlePartitions))
		time.Sleep(6 * ttl) // waits: in virtual time, until all is quiet
		const span = time.Minute
		before := c.server.requests.Load()
		time.Sleep(span) // waits: in virtual time
		got := float64(c.server.requests.Load()-before) / span.Seconds()
		poll := min(ttl/20, time.Second).Seconds()
		most := float64(*idleMembers)*(1/poll+4/ttl.Seconds()) + 3/poll
		t.Logf("%d members with %d partitions: %.1f requests a second, want at most %.1f", *idleMembers,
			*idlePartitions, got, most)
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

// TestALeaveIsSoon: where nothing is hinted at, what a member gives up as it leaves runs elsewhere within about a poll:
// the others look more often while something moves.
func TestALeaveIsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members, partitions, ttl = 4, 24, 4 * time.Second
		c := newCrowd(t, members, ttl)
		defer c.end()
		c.submit(partitions)
		for i := range members - 1 {
			time.Sleep(6 * ttl) // waits: in virtual time, until all is quiet
			c.longest()
			c.drain(i)
			c.until("what it ran runs elsewhere",
				func() bool { by, n := c.shares(); return by[i] == 0 && n == partitions })
			gap := c.longest()
			t.Logf("%d of %d members leave: nobody ran a partition for %s at most", i+1, members, gap)
			c.leave[i]()
			if most := ttl / 20 * 3 / 2; gap > most {
				t.Errorf("nobody ran a partition for %s, want at most %s", gap, most)
			}
		}
	})
}

// What nobody can claim is looked at often only at first.
func TestWhatMoves(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	free, stop := []boardFree{{Partition: "x"}}, []boardStop{{Partition: "y"}}
	for _, c := range []struct {
		name   string
		polled bool
		board  boardDoc
		term   uint64 // of the leader
		ago    time.Duration
		want   []string
	}{
		{"free and given up", true, boardDoc{Term: 2, Free: free, Stop: stop}, 2, ttl - 1,
			[]string{partitionKey("x"), partitionKey("y")}},
		{"for a TTL", true, boardDoc{Term: 2, Free: free, Stop: stop}, 2, ttl, nil},
		{"a store that hints", false, boardDoc{Term: 2, Free: free, Stop: stop}, 2, 0, nil},
		{"at rest", true, boardDoc{Term: 2}, 2, 0, nil},
		{"a new leader", true, boardDoc{Term: 1}, 2, 0, []string{}},
	} {
		state := NewState(member.Params{Timing: heartbeat.Timing{TTL: ttl}, Hints: member.Hints{Docs: !c.polled}})
		s := &step{&state}
		s.At = protocol.Instant(time.Hour)
		s.look.board, s.look.leader.Term, s.look.boardSince = c.board, c.term, s.At.Add(-c.ago)
		if got := s.readByKey(); s.moving() != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: moving: %t, %q, want %q", c.name, s.moving(), got, c.want)
		}
	}
}

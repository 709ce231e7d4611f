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

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// idleTasks is how many tasks the members of TestIdleMembersAskSeldom have: 10000 for the figures of
// docs/internals/performance.md.
var idleTasks = flag.Int("idle-tasks", 200, "how many tasks of TestIdleMembersAskSeldom")

// counted counts requests as ZooKeeper gets them: a list is one for each document, and one for their names.
type counted struct {
	*memory.Store
	requests *atomic.Int64
}

func (c counted) Get(ctx context.Context, key string) (store.Doc, error) {
	c.requests.Add(1)
	return c.Store.Get(ctx, key)
}

func (c counted) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	docs, err := c.Store.List(ctx, prefix)
	c.requests.Add(1 + int64(len(docs)))
	return docs, err
}

func (c counted) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	c.requests.Add(1)
	return c.Store.Put(ctx, d)
}

func (c counted) Append(ctx context.Context, data []byte) (uint64, error) {
	c.requests.Add(1)
	return c.Store.Append(ctx, data)
}

func (c counted) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	c.requests.Add(1)
	return c.Store.Read(ctx, after, limit)
}

func (c counted) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := c.Store.OpenSession(ctx, ttl)
	return countedSession{s, c.requests}, err
}

type countedSession struct {
	store.Session
	requests *atomic.Int64
}

func (c countedSession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	c.requests.Add(1)
	return c.Session.Put(ctx, d)
}

func (c counted) SessionsExpire() bool { return true } // as those of ZooKeeper: here nobody dies

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
			Member: cluster.MemberID(fmt.Sprintf("m%03d", i)), Store: counted{server.Open(), &c.requests}, TTL: ttl,
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

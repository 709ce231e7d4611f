package doclog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// remote is documents on a server that hints at nothing and has no sessions. Each call is a request, which takes some time.
type remote struct {
	docs     *memory.Store
	requests *atomic.Int64
}

const roundTrip = 2 * time.Millisecond

func (r remote) request() {
	r.requests.Add(1)
	time.Sleep(roundTrip) // waits: in virtual time
}

func (r remote) Get(ctx context.Context, key string) (store.Doc, error) {
	r.request()
	return r.docs.Get(ctx, key)
}

func (r remote) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	r.request()
	return r.docs.Gets(ctx, keys)
}

func (r remote) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	r.request()
	return r.docs.Put(ctx, d)
}

func (r remote) Delete(ctx context.Context, key string, v store.Version) error {
	r.request()
	return r.docs.Delete(ctx, key, v)
}

func (r remote) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	r.request()
	return r.docs.List(ctx, prefix)
}

func (r remote) Close() error { return r.docs.Close() }

// TestIdleMembersAskSeldom counts the requests of members that have nothing to do, at a TTL of 10 s, in virtual time: 100 where a store reads many
// documents in one request, and 20 where it does not.
func TestIdleMembersAskSeldom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		members     int
		single      bool
		least, most float64
	}{{"many in one request", 100, false, 200, 300}, {"one by one", 20, true, 100, 140}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				perSecond := idle(t, c.members, c.single)
				t.Logf("%.0f requests a second", perSecond)
				if perSecond < c.least || perSecond >= c.most {
					t.Errorf("%.1f requests a second, want at least %.0f and less than %.0f", perSecond, c.least, c.most)
				}
			})
		})
	}
}

// idle is how many requests members make in a second once all have joined.
func idle(t *testing.T, members int, single bool) float64 {
	var requests atomic.Int64
	server, clock := memory.New(), protocol.NewProcessClock()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var handles []*replica.Replica
	for i := range members {
		var docs Docs = remote{server.Open(), &requests}
		if single {
			docs = struct{ Docs }{docs}
		}
		s, err := New(docs, Options{})
		must.Succeed(t, err)
		m, err := replica.New(protocol.Config{Member: cluster.MemberID(fmt.Sprint("m", i)), Store: s, TTL: 10 * time.Second, LeaveTimeout: time.Minute, Clock: clock})
		must.Succeed(t, err)
		handles = append(handles, m)
		all.Go(func() { _ = m.Run(ctx) })
		for !m.Status().Joined {
			time.Sleep(100 * time.Millisecond) // waits: in virtual time
		}
	}
	time.Sleep(30 * time.Second) // waits: in virtual time, until all is quiet
	const span = time.Minute
	before := requests.Load()
	time.Sleep(span) // waits: in virtual time
	count := float64(requests.Load()-before) / span.Seconds()
	for _, m := range handles {
		if !m.Status().Joined || m.Status().StoreError != "" {
			t.Errorf("a member has not joined, or has no store: %+v", m.Status())
		}
	}
	stop()
	all.Wait()
	return count
}

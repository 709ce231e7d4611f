package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/storetest"
	"github.com/rota-run/rota/store/zookeeper"
)

// reach makes an empty store on the shared server, reached through links that break.
func reach(t *testing.T) storetest.Reach[*zookeeper.Store] { return reachOf(t, servers(t)) }

// reachOf spreads handles over servers: each is connected to one of them. A handle gives up a server that is silent for
// two thirds of the session's timeout. Where no fault is intended, that must be longer than any pause of a busy
// machine.
func reachOf(t *testing.T, addrs []string) storetest.Reach[*zookeeper.Store] {
	path, n := freshPath(t), 0
	next := func(session time.Duration) zookeeper.Options {
		n++
		return zookeeper.Options{Path: path, Session: session, Servers: addrs[n%len(addrs) : n%len(addrs)+1]}
	}
	return storetest.Reach[*zookeeper.Store]{
		Direct:  func(t *testing.T) *zookeeper.Store { return openWith(t, next(20*time.Second)) },
		Through: func(t *testing.T) (*zookeeper.Store, storetest.Link) { return openThrough(t, next(4*time.Second)) },
		TTL:     3 * time.Second,
	}
}

// openThrough opens a store through its own link.
func openThrough(t testing.TB, o zookeeper.Options) (*zookeeper.Store, *faultproxy.Proxy) {
	t.Helper()
	link := rig.Link(t, o.Servers[0])
	o.Servers = []string{link.Addr()}
	return openWith(t, o), link
}

// openTapped opens a store through a tap and then a link: the tap sees requests before the link holds or loses them.
func openTapped(t testing.TB, o zookeeper.Options) (*zookeeper.Store, *faultproxy.Proxy, *tap) {
	t.Helper()
	link := rig.Link(t, o.Servers[0])
	tap := listenTap(t, link.Addr())
	o.Servers = []string{tap.addr()}
	return openWith(t, o), link, tap
}

func TestFaults(t *testing.T) { t.Parallel(); storetest.Faults(t, reach) }

// TestCrashes kills the only server.
func TestCrashes(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*zookeeper.Store] {
		c := ownServers(t, server.Options{})
		r := reachOf(t, c.Servers())
		r.Crash = func(t *testing.T) {
			c.Kill(0)
			must.Succeed(t, c.Restart(rig.LongDeadline(t), 0))
		}
		return r
	})
}

// TestCrashesOfLeaders kills the leader of three servers, again and again, while clients of all three read and write.
func TestCrashesOfLeaders(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*zookeeper.Store] {
		c := ownServers(t, server.Options{Nodes: 3})
		r := reachOf(t, c.Servers())
		r.Crash = func(t *testing.T) { killLeader(t, c) }
		return r
	})
}

// killLeader kills the leader, waits for another one, and starts the former again.
func killLeader(t *testing.T, c *server.Cluster) {
	t.Helper()
	ctx := rig.LongDeadline(t)
	leader := must.Get(c.Leader(ctx))(t)
	c.Kill(leader)
	must.Succeed(t, must.Err(c.Leader(ctx)))
	must.Succeed(t, c.Restart(ctx, leader))
}

// readsAtLeader is how many reads at a leader are looked at, after it has said that it leads.
const readsAtLeader = 50

// TestReadsAtTheLeader: each makes a transaction, because the leader lets a sync pass.
func TestReadsAtTheLeader(t *testing.T) {
	t.Parallel()
	c, ctx := threeServers(t), rig.Deadline(t)
	tap := listenTap(t, c.Servers()[must.Get(c.Leader(ctx))(t)])
	s := openWith(t, zookeeper.Options{Servers: []string{tap.addr()}, Path: freshPath(t)})
	read := func() (syncs, transactions int) {
		t.Helper()
		before := tap.counts()
		must.Succeed(t, must.Err(s.Read(ctx, 0, 1)))
		asked := tap.since(before)
		return asked[opSync], asked[opMulti]
	}
	rig.Eventually(t, "the leader was asked for its mode", func() bool { read(); return tap.modesTold() > 0 })
	for range readsAtLeader {
		if syncs, transactions := read(); syncs != 0 || transactions != 1 {
			t.Fatalf("a read at the leader made %d syncs and %d transactions, want a transaction", syncs, transactions)
		}
	}
}

// TestSilentNode connects to one of three nodes, which falls silent and closes nothing. The handle notices that and
// uses another one, while the first is still silent.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Path: freshPath(t), Session: 4 * time.Second}
	var links []*faultproxy.Proxy
	links, o.Servers = rig.Links(t, threeServers(t).Servers())
	s := openWith(t, o)
	v := must.Get(s.Put(rig.Deadline(t), store.Doc{Key: "a", Value: []byte("x")}))(t)
	for _, link := range links { // the handle has one connection
		if link.Stats().Open > 0 {
			link.Stall()
		}
	}
	rig.Answers(t, s, "a", v)
}

// TestReconnects resets the connection of a handle that holds watches again and again, while calls wait for it. The
// watches must go on, and the client library must hold none itself: it would set them again after each reconnect, and
// read its state without a lock (which the race detector reports).
func TestReconnects(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	direct := openWith(t, o)
	through, link, tap := openTapped(t, o)
	ctx := rig.LongDeadline(t)
	docs := must.Get(through.Watch(ctx, "w/"))(t)
	log := must.Get(through.WatchLog(ctx))(t)
	v, err := direct.Put(ctx, store.Doc{Key: "w/a"})
	must.Succeed(t, err)
	busy := keepAsking(ctx, through)
	for range 20 {
		before := len(tap.granted())
		link.Reset()
		rig.Eventually(t, "the handle is connected again", func() bool { return len(tap.granted()) > before })
		rig.Drain(docs)
		rig.Drain(log)
		if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			t.Fatal(err)
		}
		must.Succeed(t, must.Err(direct.Append(ctx, nil)))
		rig.Hinted(t, docs)
		rig.Hinted(t, log)
	}
	if err := through.Close(); err != nil { // while calls wait
		t.Errorf("close: %v", err)
	}
	busy()
	if n := tap.counts()[opSetWatches]; n > 0 {
		t.Errorf("the library set its own watches %d times", n)
	}
}

// keepAsking makes calls from several goroutines until the store is closed; wait waits for their end.
func keepAsking(ctx context.Context, s *zookeeper.Store) (wait func()) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = s.Get(ctx, "w/a") // any outcome is fine
				if _, err := s.Read(ctx, 0, 1); errors.Is(err, store.ErrClosed) {
					return
				}
			}
		})
	}
	return wg.Wait
}

// TestCloseWhileMakingFolders closes handles while they make folders. No answer may be read that the library is still
// filling (which the race detector reports).
func TestCloseWhileMakingFolders(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.LongDeadline(t)
	for round := range 40 {
		s, begun, closed := openWith(t, o), make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case begun <- struct{}{}:
					case <-closed:
						return
					}
					_, _ = s.Put(ctx, store.Doc{Key: fmt.Sprintf("%d-%d-%d/a", round, i, n)}) // any outcome is fine
				}
			})
		}
		for range 8 + round {
			<-begun
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		close(closed)
		wg.Wait()
	}
}

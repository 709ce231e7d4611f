package zookeeper_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
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

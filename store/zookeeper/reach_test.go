package zookeeper

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/faultproxy"
	server "github.com/rota-run/rota/internal/server/zookeeper"
	"github.com/rota-run/rota/store/storetest"
)

// reach makes an empty store behind links that break.
func reach(t *testing.T) storetest.Reach[*Store] {
	return reachAt(Options{Servers: servers(t)[:1], Path: freshPath(t), Session: 2 * time.Second})
}

func reachAt(o Options) storetest.Reach[*Store] {
	return storetest.Reach[*Store]{
		Direct:  func(t *testing.T) *Store { return openWith(t, o) },
		Through: func(t *testing.T) (*Store, storetest.Link) { return openThrough(t, o) },
		TTL:     2 * time.Second,
	}
}

// openThrough opens a store behind a link of its own.
func openThrough(t testing.TB, o Options) (*Store, *faultproxy.Proxy) {
	t.Helper()
	p, err := faultproxy.Listen(context.Background(), o.Servers[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	o.Servers = []string{p.Addr()}
	return openWith(t, o), p
}

func TestFaults(t *testing.T) { t.Parallel(); storetest.Faults(t, reach) }

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*Store] {
		c := ownServers(t, server.Options{})
		r := reachAt(Options{Servers: c.Servers(), Path: freshPath(t), Session: 2 * time.Second})
		r.Crash = func(t *testing.T) {
			if err := c.Kill(0); err != nil {
				t.Fatal(err)
			}
			if err := c.Restart(deadline(t), 0); err != nil {
				t.Fatal(err)
			}
		}
		return r
	})
}

package zookeeper

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/faultproxy"
	server "github.com/rota-run/rota/internal/server/zookeeper"
	"github.com/rota-run/rota/store/storetest"
)

// reach makes an empty store behind links that break. Only the rules that kill the server get one of their own.
func reach(t *testing.T) storetest.Reach[*Store] {
	o := Options{Path: freshPath(t), Session: 2 * time.Second}
	var crash func(t *testing.T)
	if strings.HasSuffix(t.Name(), "server_killed") {
		c := ownServers(t, server.Options{})
		o.Servers = c.Servers()
		crash = func(t *testing.T) {
			c.Kill(0)
			if err := c.Restart(deadline(t), 0); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		o.Servers = servers(t)[:1]
	}
	return storetest.Reach[*Store]{
		Direct:  func(t *testing.T) *Store { return openWith(t, o) },
		Through: func(t *testing.T) (*Store, storetest.Link) { return openThrough(t, o) },
		Crash:   crash,
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

package etcd_test

import (
	"context"
	. "github.com/rota-run/rota/store/etcd"
	"testing"

	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/store/storetest"
)

// reach opens stores below a prefix of their own on a server, directly and through a proxy for each handle.
func reach(o Options) storetest.Reach[*Store] {
	return storetest.Reach[*Store]{
		Direct: func(t *testing.T) *Store { return openWith(t, o) },
		Through: func(t *testing.T) (*Store, storetest.Link) {
			p, err := faultproxy.Listen(context.Background(), o.Endpoints[0])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() }) // after the store was closed, perhaps behind a broken link
			through := o
			through.Endpoints = []string{p.Addr()}
			return openWith(t, through), p
		},
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, func(*testing.T) storetest.Reach[*Store] { return reach(options()) })
}

// TestFaultsOfASessionWithoutKeeper runs the rules of sessions where nothing renews them but Put.
func TestFaultsOfASessionWithoutKeeper(t *testing.T) {
	t.Parallel()
	storetest.SessionFaults(t, func(*testing.T) storetest.Reach[*Store] {
		o := options()
		o.noKeeper = true
		return reach(o)
	})
}

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) storetest.Reach[*Store] {
		c, err := server.StartCluster(deadline(t), server.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Stop)
		o := options()
		o.Endpoints = c.Endpoints()
		r := reach(o)
		r.Crash = func(t *testing.T) {
			c.Kill(0)
			if err := c.Restart(deadline(t), 0); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	storetest.Crashes(t, open)
}

package nats_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/storetest"
)

// reach opens stores in a bucket of their own on the server at address, directly and through a proxy for each handle.
func reach(address string) storetest.Reach[*nats.Store] {
	name := bucket()
	return storetest.Reach[*nats.Store]{
		Direct: func(t *testing.T) *nats.Store {
			return openWith(t, nats.Options{Bucket: name, URLs: []string{address}})
		},
		Through: func(t *testing.T) (*nats.Store, storetest.Link) {
			p := proxyTo(t, address) // closed after the store, whose link may be broken
			return openWith(t, nats.Options{Bucket: name, URLs: []string{"nats://" + p.Addr()}}), p
		},
	}
}

// proxyTo is a proxy to a server.
func proxyTo(t *testing.T, url string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Listen(context.Background(), strings.TrimPrefix(url, "nats://"))
	must.Succeed(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

func TestFaults(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, func(*testing.T) storetest.Reach[*nats.Store] { return reach(address) })
}

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*nats.Store] {
		p, err := server.Spawn(rig.LongDeadline(t), server.Options{Dir: t.TempDir()})
		must.Succeed(t, err)
		t.Cleanup(p.Stop)
		r := reach(p.URL())
		r.Crash = func(t *testing.T) {
			p.Kill(0)
			must.Succeed(t, p.Restart(0))
			must.Succeed(t, p.Await(rig.Deadline(t)))
		}
		return r
	})
}

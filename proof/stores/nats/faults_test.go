package nats_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/nats"
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
	if err != nil {
		t.Fatal(err)
	}
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
		p, err := server.Spawn(longDeadline(t), server.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		r := reach(p.URL())
		r.Crash = func(t *testing.T) {
			p.Kill(0)
			if err := p.Restart(0); err != nil {
				t.Fatal(err)
			}
			if err := p.Await(deadline(t)); err != nil {
				t.Fatal(err)
			}
		}
		return r
	})
}

package nats_test

import (
	"context"
	. "github.com/rota-run/rota/store/nats"
	"strings"
	"testing"

	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/store/storetest"
)

// reach opens stores in a bucket of their own on the server at address, directly and through a proxy for each handle.
func reach(address string) storetest.Reach[*Store] {
	name := bucket()
	return storetest.Reach[*Store]{
		Direct: func(t *testing.T) *Store { return openWith(t, Options{Bucket: name, URLs: []string{address}}) },
		Through: func(t *testing.T) (*Store, storetest.Link) {
			p, err := faultproxy.Listen(context.Background(), strings.TrimPrefix(address, "nats://"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() }) // after the store was closed, perhaps behind a broken link
			return openWith(t, Options{Bucket: name, URLs: []string{"nats://" + p.Addr()}}), p
		},
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, func(*testing.T) storetest.Reach[*Store] { return reach(address) })
}

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*Store] {
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

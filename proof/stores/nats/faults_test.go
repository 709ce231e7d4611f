package nats_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/storetest"
)

// reach opens stores in a bucket on the servers at these addresses, directly and through a link for each handle.
func reach(name string, addresses ...string) storetest.Reach[*nats.Store] {
	return rig.Reach(hosts(addresses...), func(t *testing.T, addrs []string) *nats.Store {
		return openWith(t, nats.Options{Bucket: name, URLs: urls(addrs)})
	})
}

// hosts are addresses without, and urls those with the scheme.
func hosts(urls ...string) []string {
	return strings.Split(strings.ReplaceAll(strings.Join(urls, ","), "nats://", ""), ",")
}

func urls(hosts []string) []string {
	return strings.Split("nats://"+strings.Join(hosts, ",nats://"), ",")
}

// proxyTo is a proxy to a server.
func proxyTo(t *testing.T, url string) *faultproxy.Proxy {
	t.Helper()
	return rig.Link(t, strings.TrimPrefix(url, "nats://"))
}

func TestFaults(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, func(*testing.T) storetest.Reach[*nats.Store] { return reach(bucket(), address) })
}

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*nats.Store] {
		p := spawn(t, 1)
		r := reach("b", p.URL())
		r.Crash = func(t *testing.T) {
			p.Kill(0)
			must.Succeed(t, p.Restart(0))
			must.Succeed(t, p.Await(rig.Deadline(t)))
		}
		return r
	})
}

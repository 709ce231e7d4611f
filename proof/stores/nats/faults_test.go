package nats_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/nats"
)

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

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with
// its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	place.Crashes(t, func(t *testing.T) (nats.Options, func(*testing.T)) {
		p := spawn(t, 1)
		return usual(nats.Options{Bucket: "b", URLs: p.URLs()}), func(t *testing.T) {
			p.Kill(0)
			must.Succeed(t, p.Restart(0))
			must.Succeed(t, p.Await(rig.Deadline(t)))
		}
	})
}

//go:build nightly

package elastic_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/elastic"
)

// TestPrimaryKilled kills the node with the primary, of three, with SIGKILL, again and again, while clients write. What
// the clients saw must fit one order, and nothing that was acknowledged may be missing.
func TestPrimaryKilled(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		s.place().Crashes(t, func(t *testing.T) (elastic.Options, func(*testing.T)) {
			c := startCluster(t, server.Options{Kind: s.kind, Nodes: 3})
			o := on(t, c.Servers())
			return o, func(t *testing.T) { killPrimary(t, c, o.Index) }
		})
	})
}

// killPrimary kills the node with the primary once all copies are there, waits for another one, and starts the node
// again.
func killPrimary(t *testing.T, c *server.Cluster, index string) {
	t.Helper()
	ctx := rig.LongDeadline(t)
	must.Succeed(t, c.Green(ctx, index))
	victim := must.Get(c.Primary(ctx, index))(t)
	must.Succeed(t, c.Kill(victim))
	if _, err := c.Primary(ctx, index); err != nil { // the two others go on meanwhile
		t.Fatal(err)
	}
	must.Succeed(t, c.Restart(ctx, victim))
}

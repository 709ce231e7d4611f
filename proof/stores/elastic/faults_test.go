package elastic_test

import (
	"testing"

	server "github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/doclog"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/storetest"
)

// reach opens handles on one store's documents, reachLog on the log in them.
func reach(o elastic.Options) storetest.Reach[*elastic.Store] {
	return rig.Reach(o.Servers, func(t *testing.T, servers []string) *elastic.Store { return openWith(t, through(o, servers...)) })
}

func reachLog(o elastic.Options) storetest.Reach[doclog.Store] {
	return rig.Reach(o.Servers, func(t *testing.T, servers []string) doclog.Store { return openLog(t, through(o, servers...)) })
}

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		t.Run("docs", func(t *testing.T) {
			t.Parallel()
			storetest.DocsFaults(t, func(t *testing.T) storetest.Reach[*elastic.Store] { return reach(s.options(t)) })
		})
		t.Run("log", func(t *testing.T) {
			t.Parallel()
			storetest.LogFaults(t, func(t *testing.T) storetest.Reach[doclog.Store] { return reachLog(s.options(t)) })
		})
	})
}

// TestServerKilled gives each store a server of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		storetest.Crashes(t, func(t *testing.T) storetest.Reach[doclog.Store] {
			c := startCluster(t, server.Options{Kind: s.kind})
			r := reachLog(on(t, c.Servers()))
			r.Crash = func(t *testing.T) {
				if err := c.Kill(0); err != nil {
					t.Fatal(err)
				}
				if err := c.Restart(rig.LongDeadline(t), 0); err != nil {
					t.Fatal(err)
				}
			}
			return r
		})
	})
}

// TestPrimaryKilled kills the node with the primary, of three, with SIGKILL, again and again, while clients write. What the clients saw must fit one
// order, and nothing that was acknowledged may be missing.
func TestPrimaryKilled(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		storetest.Crashes(t, func(t *testing.T) storetest.Reach[doclog.Store] {
			c := startCluster(t, server.Options{Kind: s.kind, Nodes: 3})
			o := on(t, c.Servers())
			r := reachLog(o)
			r.Crash = func(t *testing.T) { killPrimary(t, c, o.Index) }
			return r
		})
	})
}

// killPrimary kills the node with the primary once all copies are there, waits for another one, and starts the node again.
func killPrimary(t *testing.T, c *server.Cluster, index string) {
	t.Helper()
	ctx := rig.LongDeadline(t)
	if err := c.Green(ctx, index); err != nil {
		t.Fatal(err)
	}
	victim, err := c.Primary(ctx, index)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(victim); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Primary(ctx, index); err != nil { // the two others go on meanwhile
		t.Fatal(err)
	}
	if err := c.Restart(ctx, victim); err != nil {
		t.Fatal(err)
	}
}

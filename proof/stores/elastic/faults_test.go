package elastic_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/storetest"
)

// reach opens handles on one store.
func reach(o elastic.Options) storetest.Reach[*elastic.Store] {
	return rig.Reach(o.Servers, func(t *testing.T, servers []string) *elastic.Store { return openWith(t, through(o, servers...)) })
}

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		t.Run("docs", func(t *testing.T) {
			t.Parallel()
			storetest.DocsFaults(t, func(t *testing.T) storetest.Reach[*elastic.Store] { return reach(s.options(t)) })
		})
		t.Run("log", func(t *testing.T) {
			t.Parallel()
			storetest.LogFaults(t, func(t *testing.T) storetest.Reach[*elastic.Store] { return reach(s.options(t)) })
		})
	})
}

// TestServerKilled gives each store a server of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		storetest.Crashes(t, func(t *testing.T) storetest.Reach[*elastic.Store] {
			c := startCluster(t, server.Options{Kind: s.kind})
			r := reach(on(t, c.Servers()))
			r.Crash = func(t *testing.T) {
				must.Succeed(t, c.Kill(0))
				must.Succeed(t, c.Restart(rig.LongDeadline(t), 0))
			}
			return r
		})
	})
}

package elastic_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/storetest"
)

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		t.Run("docs", func(t *testing.T) { t.Parallel(); storetest.DocsFaults(t, s.place().Reach) })
		t.Run("log", func(t *testing.T) { t.Parallel(); storetest.LogFaults(t, s.place().Reach) })
	})
}

// TestServerKilled gives each store a server of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		s.place().Crashes(t, func(t *testing.T) (elastic.Options, func(*testing.T)) {
			c := startCluster(t, server.Options{Kind: s.kind})
			return on(t, c.Servers()), func(t *testing.T) {
				must.Succeed(t, c.Kill(0))
				must.Succeed(t, c.Restart(rig.LongDeadline(t), 0))
			}
		})
	})
}

package etcd_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/storetest"
)

// reach opens handles on one store.
func reach(o etcd.Options) storetest.Reach[*etcd.Store] {
	return rig.Reach(o.Endpoints, func(t *testing.T, endpoints []string) *etcd.Store { return openWith(t, through(o, endpoints...)) })
}

func TestFaults(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, func(*testing.T) storetest.Reach[*etcd.Store] { return reach(options()) })
}

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*etcd.Store] {
		c := startCluster(t, server.Options{})
		r := reach(on(c))
		r.Crash = func(t *testing.T) {
			c.Kill(0)
			must.Succeed(t, c.Restart(rig.Deadline(t), 0))
		}
		return r
	})
}

// TestLeaderKilled kills the leader of three members with SIGKILL, again and again, while clients write. What the clients saw must fit one order, and
// nothing that was acknowledged may be missing.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*etcd.Store] {
		c := startCluster(t, server.Options{Nodes: 3, NoSync: true})
		r := reach(on(c))
		r.Crash = func(t *testing.T) {
			leader, err := c.Leader(rig.Deadline(t))
			must.Succeed(t, err)
			c.Kill(leader)
			if _, err := c.Leader(rig.Deadline(t)); err != nil { // the two others go on meanwhile
				t.Fatal(err)
			}
			must.Succeed(t, c.Restart(rig.Deadline(t), leader))
		}
		return r
	})
}

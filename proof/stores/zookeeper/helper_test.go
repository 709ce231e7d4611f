package zookeeper_test

import (
	"context"
	"os"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/zookeeper"
)

// standing is the server that most tests use, each below its own path; three are servers of one cluster, for tests that
// leave them as they were.
var standing, three = sharing(1), sharing(3)

func sharing(nodes int) *rig.Shared[*server.Cluster] {
	return &rig.Shared[*server.Cluster]{
		Start: func(ctx context.Context) (*server.Cluster, error) {
			return server.Start(ctx, server.Options{Nodes: nodes})
		},
		Require: server.Require,
	}
}

func TestMain(m *testing.M) { os.Exit(standing.Run(m, three)) }

// servers returns the addresses of the shared server.
func servers(t testing.TB) []string { return standing.Server(t).Servers() }

// ownServers starts servers that the test may kill.
func ownServers(t testing.TB, o server.Options) *server.Cluster {
	t.Helper()
	return rig.Own(t, server.Variable, server.Require,
		func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, o) })
}

// threeServers are servers that tests share, and may kill if they start them again.
func threeServers(t testing.TB) *server.Cluster {
	t.Helper()
	rig.MayKill(t, server.Variable)
	return three.Server(t)
}

// freshPath returns a path that no other test uses.
func freshPath(testing.TB) string { return "/rota-tests/" + standing.Name() }

// place is how tests reach the shared server, or another one. Handles behind a link have short sessions.
var place = rig.Place[zookeeper.Options, *zookeeper.Store]{
	Open: zookeeper.Open, TTL: 2 * time.Second,
	Fresh: func(t testing.TB) zookeeper.Options {
		return zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	},
	Hosts: func(o zookeeper.Options) []string { return o.Servers },
	At: func(o zookeeper.Options, servers ...string) zookeeper.Options {
		o.Servers, o.Session = servers, 2*time.Second
		return o
	},
}

func openWith(t testing.TB, o zookeeper.Options) *zookeeper.Store {
	t.Helper()
	return place.With(t, o)
}

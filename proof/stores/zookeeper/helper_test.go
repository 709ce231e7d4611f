package zookeeper_test

import (
	"context"
	"os"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/zookeeper"
)

// standing is the server that most tests use, each below its own path.
var standing = rig.Shared[*server.Cluster]{
	Start:   func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, server.Options{}) },
	Require: server.Require,
}

// three are servers of one cluster, for tests that leave them as they were.
var three = rig.Shared[*server.Cluster]{
	Start:   func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, server.Options{Nodes: 3}) },
	Require: server.Require,
}

func TestMain(m *testing.M) { os.Exit(standing.Run(m, &three)) }

// servers returns the addresses of the shared server.
func servers(t testing.TB) []string { return standing.Server(t).Servers() }

// ownServers starts servers that the test may kill.
func ownServers(t testing.TB, o server.Options) *server.Cluster {
	t.Helper()
	rig.MayKill(t, server.Variable)
	c, err := server.Start(rig.LongDeadline(t), o)
	server.Require(t, err)
	t.Cleanup(c.Stop)
	return c
}

// threeServers are servers that tests share, and may kill if they start them again.
func threeServers(t testing.TB) *server.Cluster {
	t.Helper()
	rig.MayKill(t, server.Variable)
	return three.Server(t)
}

// freshPath returns a path that no other test uses.
func freshPath(testing.TB) string { return "/rota-tests/" + standing.Name() }

// opener is how a handle is opened.
func opener(o zookeeper.Options) func(context.Context) (*zookeeper.Store, error) {
	return func(ctx context.Context) (*zookeeper.Store, error) { return zookeeper.Open(ctx, o) }
}

func openWith(t testing.TB, o zookeeper.Options) *zookeeper.Store {
	t.Helper()
	return rig.Open(t, opener(o))
}

// members runs a protocol on these servers, each member behind a link of its own.
func members(servers []string) func(protocol.Protocol) protocoltest.Setup {
	return func(p protocol.Protocol) protocoltest.Setup {
		return protocoltest.Setup{TTL: 2 * time.Second, Open: rig.Members(p, servers, func(t *testing.T) func(t *testing.T, addr string) *zookeeper.Store {
			path := freshPath(t)
			return func(t *testing.T, addr string) *zookeeper.Store { // the story closes it
				return rig.Opened(t, opener(zookeeper.Options{Servers: []string{addr}, Path: path, Session: 2 * time.Second}))
			}
		})}
	}
}

// fresh makes an empty store on the shared server.
func fresh(t *testing.T) func(t *testing.T) *zookeeper.Store {
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	return func(t *testing.T) *zookeeper.Store { return openWith(t, o) }
}

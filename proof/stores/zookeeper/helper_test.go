package zookeeper_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/zookeeper"
)

// shared is the server that most tests use, each below its own path.
type shared struct {
	once    sync.Once
	cluster *server.Cluster
	err     error
	paths   atomic.Int64
}

var standing shared

func TestMain(m *testing.M) {
	code := m.Run()
	if standing.cluster != nil {
		standing.cluster.Stop()
	}
	if code == 0 {
		if err := rig.Leaks(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// servers returns the addresses of the shared server.
func servers(t testing.TB) []string {
	t.Helper()
	standing.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*rig.Patience)
		defer cancel()
		standing.cluster, standing.err = server.Start(ctx, server.Options{})
	})
	server.Require(t, standing.err)
	return standing.cluster.Servers()
}

// ownServers starts servers that the test may kill.
func ownServers(t testing.TB, o server.Options) *server.Cluster {
	t.Helper()
	if os.Getenv(server.Variable) != "" {
		t.Skipf("NOT TESTED: the servers of %s must not be killed", server.Variable)
	}
	c, err := server.Start(rig.LongDeadline(t), o)
	server.Require(t, err)
	t.Cleanup(c.Stop)
	return c
}

// freshPath returns a path that no other test uses.
func freshPath(t testing.TB) string {
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '_'
		}
		return r
	}, t.Name())
	return fmt.Sprintf("/rota-tests/%d-%d/%s", os.Getpid(), standing.paths.Add(1), name)
}

// opener is how a handle is opened.
func opener(o zookeeper.Options) func(context.Context) (*zookeeper.Store, error) {
	return func(ctx context.Context) (*zookeeper.Store, error) { return zookeeper.Open(ctx, o) }
}

func openWith(t testing.TB, o zookeeper.Options) *zookeeper.Store {
	t.Helper()
	return rig.Open(t, opener(o))
}

// members runs a protocol on these servers, each member behind a link of its own.
func members(p protocol.Protocol, servers []string) protocoltest.Setup {
	return protocoltest.Setup{TTL: 2 * time.Second, Open: rig.Members(p, servers, func(t *testing.T) func(t *testing.T, addr string) *zookeeper.Store {
		path := freshPath(t)
		return func(t *testing.T, addr string) *zookeeper.Store { // the story closes it
			return rig.Opened(t, opener(zookeeper.Options{Servers: []string{addr}, Path: path, Session: 2 * time.Second}))
		}
	})}
}

// fresh makes an empty store on the shared server.
func fresh(t *testing.T) func(t *testing.T) *zookeeper.Store {
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	return func(t *testing.T) *zookeeper.Store { return openWith(t, o) }
}

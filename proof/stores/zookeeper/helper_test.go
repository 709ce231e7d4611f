package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// patience bounds waits: only a failure takes so long.
const patience = 60 * time.Second

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
		if err := leaks(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaks reports goroutines that do not end. On a busy machine those of closed handles may need some time.
func leaks() error {
	for end := time.Now().Add(patience); ; {
		if err := goleak.Find(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// servers returns the addresses of the shared server.
func servers(t testing.TB) []string {
	t.Helper()
	standing.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
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
	c, err := server.Start(longDeadline(t), o)
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

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// longDeadline is for tests that take many steps, or start servers.
func longDeadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	return ctx
}

func openWith(t testing.TB, o zookeeper.Options) *zookeeper.Store {
	t.Helper()
	s := opened(t, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// opened opens a handle, and tries again if the servers do not answer in time, which happens on a busy machine.
func opened(t testing.TB, o zookeeper.Options) *zookeeper.Store {
	t.Helper()
	ctx := deadline(t)
	for {
		s, err := zookeeper.Open(ctx, o)
		switch {
		case err == nil:
			return s
		case !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil:
			t.Fatal(err)
		}
	}
}

// fresh makes an empty store on the shared server.
func fresh(t *testing.T) func(t *testing.T) *zookeeper.Store {
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	return func(t *testing.T) *zookeeper.Store { return openWith(t, o) }
}

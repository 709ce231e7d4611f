package etcd_test

import (
	"context"
	"errors"
	"fmt"
	. "github.com/rota-run/rota/store/etcd"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/storetest"
)

// patience bounds waits that only a failure exhausts.
const patience = 60 * time.Second

// shared is the server of all tests that need nothing special; each has its own prefix.
var (
	shared   *server.Cluster
	prefixes atomic.Int64
)

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	if where := os.Getenv(holderVariable); where != "" {
		if err := hold(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rota-etcd")
	if err == nil {
		defer os.RemoveAll(dir)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		// In a process of its own: what the server does while it starts is a data race with the beginning of the tests.
		shared, err = server.StartCluster(ctx, server.Options{Dir: dir, NoSync: os.Getenv("ROTA_ETCD_SYNC") == ""})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	shared.Stop()
	if err := leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// leaks are goroutines that do not end. On a busy machine what was closed takes its time to.
func leaks() error {
	for end := time.Now().Add(patience); ; {
		if err := goleak.Find(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// longDeadline is for what takes many steps.
func longDeadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	return ctx
}

// options are those of a store of its own on the shared server.
func options() Options {
	return Options{Endpoints: shared.Endpoints(), Prefix: fmt.Sprintf("test/%d", prefixes.Add(1)), Timeout: 20 * time.Second}
}

func openWith(t testing.TB, o Options) *Store {
	t.Helper()
	s := opened(t, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// opened opens a handle, and asks again where the server is not there yet, as may be on a busy machine.
func opened(t testing.TB, o Options) *Store {
	t.Helper()
	ctx := deadline(t)
	for {
		s, err := Open(ctx, o)
		switch {
		case err == nil:
			return s
		case !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil:
			t.Fatal(err)
		}
	}
}

func fresh(*testing.T) func(t *testing.T) *Store {
	o := options()
	return func(t *testing.T) *Store { return openWith(t, o) }
}

// freshAlone opens handles whose sessions live by Put alone.
func freshAlone(*testing.T) func(t *testing.T) *Store {
	o := options()
	o.noKeeper = true
	return func(t *testing.T) *Store { return openWith(t, o) }
}

func TestDocs(t *testing.T)                 { t.Parallel(); storetest.Docs(t, fresh) }
func TestLog(t *testing.T)                  { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)                 { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)                { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T)             { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T)             { t.Parallel(); storetest.Sessions(t, fresh) }
func TestSessionsRenewedByPut(t *testing.T) { t.Parallel(); storetest.Sessions(t, freshAlone) }

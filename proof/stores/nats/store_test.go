package nats_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/storetest"
)

// address is the server that all tests share; each has its own bucket.
var address string

// withServer starts a server and runs the tests.
type withServer struct{ m *testing.M }

func (w withServer) Run() int {
	dir, err := os.MkdirTemp("", "rota-nats-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := server.Start(ctx, server.Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Stop()
	address = s.URL()
	code := w.m.Run()
	s.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end) && goleak.Find() != nil; { // waits: on a busy machine what was closed takes its time to end
	}
	return code
}

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	goleak.VerifyTestMain(withServer{m})
}

// patience bounds waits that only a failure exhausts.
const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// folder is a folder for a server in this process. It goes when the test ends: in a while, if what the server leaves running still writes to it.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rota-nats-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end := time.Now().Add(patience)
		err := os.RemoveAll(dir)
		for ; err != nil && time.Now().Before(end); err = os.RemoveAll(dir) {
			time.Sleep(5 * time.Millisecond) // waits: between two attempts, with a deadline
		}
		if err != nil {
			t.Errorf("remove a stopped server's folder: %v", err)
		}
	})
	return dir
}

// longDeadline is for what takes many steps.
func longDeadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	return ctx
}

var buckets atomic.Int64

// bucket is a name that no other test has.
func bucket() string { return fmt.Sprint("b", buckets.Add(1)) }

func openWith(t testing.TB, o nats.Options) *nats.Store {
	t.Helper()
	if len(o.URLs) == 0 {
		o.URLs = strings.Split(address, ",")
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second // the machine may be busy
	}
	s := opened(t, o)
	t.Cleanup(func() { s.Close() })
	return s
}

// opened opens a handle, and asks again where the server does not answer in time, as may be on a busy machine.
func opened(t testing.TB, o nats.Options) *nats.Store {
	t.Helper()
	ctx := deadline(t)
	for {
		s, err := nats.Open(ctx, o)
		switch {
		case err == nil:
			return s
		case !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil:
			t.Fatal(err)
		}
	}
}

func fresh(t *testing.T) func(t *testing.T) *nats.Store {
	b := bucket()
	return func(t *testing.T) *nats.Store { return openWith(t, nats.Options{Bucket: b}) }
}

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }
func TestQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, fresh) }

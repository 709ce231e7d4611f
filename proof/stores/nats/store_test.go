package nats_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
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
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	s, err := server.Spawn(ctx, server.Options{Dir: dir, NoSync: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Stop()
	address = s.URL()
	code := w.m.Run()
	s.Stop()
	for end := time.Now().Add(rig.Patience); time.Now().Before(end) && goleak.Find() != nil; { // waits: on a busy machine what was closed takes its time to end
	}
	return code
}

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	goleak.VerifyTestMain(withServer{m})
}

// folder is a folder for a server in this process. It goes when the test ends: in a while, if what the server leaves running still writes to it.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rota-nats-")
	must.Succeed(t, err)
	t.Cleanup(func() {
		end := time.Now().Add(rig.Patience)
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
	s := rig.Opened(t, opener(o))
	t.Cleanup(func() { s.Close() })
	return s
}

// opener is how a handle is opened.
func opener(o nats.Options) func(context.Context) (*nats.Store, error) {
	return func(ctx context.Context) (*nats.Store, error) { return nats.Open(ctx, o) }
}

// membersOn runs a protocol on the nodes at these URLs, each member behind a link of its own.
func membersOn(ttl time.Duration, urls ...string) func(protocol.Protocol) protocoltest.Setup {
	return func(p protocol.Protocol) protocoltest.Setup {
		return protocoltest.Setup{TTL: ttl, Open: rig.Members(p, hosts(urls...), func(*testing.T) func(t *testing.T, addr string) *nats.Store {
			name := bucket()
			return func(t *testing.T, addr string) *nats.Store { // the story closes it
				return rig.Opened(t, opener(nats.Options{URLs: []string{"nats://" + addr}, Bucket: name, Timeout: 20 * time.Second}))
			}
		})}
	}
}

func fresh(t *testing.T) func(t *testing.T) *nats.Store {
	b := bucket()
	return func(t *testing.T) *nats.Store { return openWith(t, nats.Options{Bucket: b}) }
}

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }
func TestQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, fresh); storetest.QueueJoins(t, fresh) }
func TestLocks(t *testing.T)    { t.Parallel(); locktest.Run(t, fresh) }
func TestStories(t *testing.T)  { t.Parallel(); rig.Stories(t, membersOn(3*time.Second, address)) }
func TestStorm(t *testing.T)    { t.Parallel(); rig.Storms(t, membersOn(2*time.Second, address)) }

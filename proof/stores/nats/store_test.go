package nats_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/storetest"
)

// address is the server that all tests share; each has its own bucket.
var address string

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	os.Exit(rig.Main(m, func(ctx context.Context, dir string) (*server.Processes, error) {
		s, err := server.Spawn(ctx, server.Options{Dir: dir, NoSync: true})
		if err == nil {
			address = s.URL()
		}
		return s, err
	}))
}

// folder is a folder for a server in this process. It goes when the test ends: in a while, if what the server leaves
// running still writes to it.
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

// place is how tests reach the shared server, or another one; the machine may be busy.
var place = rig.Place[nats.Options, *nats.Store]{
	Open: nats.Open, TTL: 3 * time.Second,
	Fresh: func(testing.TB) nats.Options { return usual(nats.Options{Bucket: bucket()}) },
	Hosts: func(o nats.Options) []string { return hosts(o.URLs...) },
	At:    func(o nats.Options, hosts ...string) nats.Options { o.URLs = urls(hosts); return o },
}

// usual are options with the shared server, and with much time, if they say nothing else.
func usual(o nats.Options) nats.Options {
	if len(o.URLs) == 0 {
		o.URLs = strings.Split(address, ",")
	}
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	return o
}

func openWith(t testing.TB, o nats.Options) *nats.Store { t.Helper(); return place.With(t, usual(o)) }

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, place.Empty) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, place.Empty) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, place.Empty) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, place.Empty) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, place.Empty) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, place.Empty) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, place.Empty) }
func TestQueue(t *testing.T) {
	t.Parallel()
	storetest.Queue(t, place.Empty)
	storetest.QueueJoins(t, place.Empty)
}
func TestLocks(t *testing.T)   { t.Parallel(); locktest.Run(t, place.Empty) }
func TestStories(t *testing.T) { t.Parallel(); rig.Stories(t, place.Members) }
func TestFaults(t *testing.T)  { t.Parallel(); storetest.Faults(t, place.Reach) }
func TestStorm(t *testing.T) {
	t.Parallel()
	soon := place
	soon.TTL = 2 * time.Second
	rig.Storms(t, soon.Members)
}

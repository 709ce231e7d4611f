package nats_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
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
	dir := must.Get(os.MkdirTemp("", "rota-nats-"))(t)
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

// ends are the newest changes of documents and log.
func (d backdoor) ends(t *testing.T) any {
	var seqs [2]uint64
	for i, stream := range []string{d.docs(), d.log()} {
		seqs[i] = d.stream(t, stream).CachedInfo().State.LastSeq
	}
	return seqs
}

// throughLink opens two handles, one behind a link.
func throughLink(t *testing.T) (witness, through nats.Driver, l drivertest.Link) {
	t.Helper()
	hurry := func(o *nats.Options) { o.Timeout = 2 * time.Second }
	return rig.ThroughLink(t, place, nats.OpenDriver, hurry, func(t *testing.T, o nats.Options) func() any {
		door := backdoorTo(t, o.Bucket)
		return func() any { return door.ends(t) }
	})
}

// TestDriver: the driver keeps the promises of package driver, over a real server.
func TestDriver(t *testing.T) { t.Parallel(); rig.Documents(t, place, nats.OpenDriver, throughLink) }

// TestDriverOfSmallMessages: also where a server takes small messages alone.
func TestDriverOfSmallMessages(t *testing.T) {
	t.Parallel()
	c, err := server.Spawn(rig.LongDeadline(t), server.Options{Dir: folder(t), NoSync: true, MaxPayload: 64 << 10})
	must.Succeed(t, err)
	t.Cleanup(c.Stop)
	small := place
	small.Fresh = func(testing.TB) nats.Options { return usual(nats.Options{URLs: c.URLs(), Bucket: bucket()}) }
	rig.Documents(t, small, nats.OpenDriver, nil)
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	rig.Journals(t, place, nats.OpenDriver, throughLink, func(t *testing.T) (drivertest.Orderer, func(bool)) {
		r := startRelay(t)
		var d nats.Driver
		r.inCluster(t, func() {
			d = rig.Driver(t, nats.OpenDriver, usual(nats.Options{URLs: []string{r.url}, Bucket: bucket()}))
		})
		return d, func(on bool) {
			if r.with(faithful); on {
				r.with(r.past())
			}
		}
	})
}

// TestNewLogIsServed: who opens a log that was just made waits until its node knows of it, and writes nothing to find
// out.
func TestNewLogIsServed(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	o := usual(nats.Options{URLs: []string{r.url}, Bucket: bucket()})
	var d nats.Driver
	r.inCluster(t, func() { d = rig.Driver(t, nats.OpenDriver, o) })
	for _, create := range []bool{true, false} {
		unknown := 3
		r.with(func(m *nc.Msg, pass func() []byte) []byte {
			m.Data = bytes.ReplaceAll(m.Data, []byte(`"num_replicas":3`), []byte(`"num_replicas":1`)) // the server is alone
			if strings.HasPrefix(m.Subject, "$JS.") || unknown == 0 {
				return pass()
			}
			unknown--
			return refuse(t, m)
		})
		j := must.Get(d.OpenJournal(t.Context(), "new", create))(t)
		if unknown > 0 {
			t.Errorf("opened after %d of 3 answers that nobody serves it", 3-unknown)
		}
		_, _, before, err := j.Read(t.Context(), 0, 0)
		must.Succeed(t, err)
		if at := must.Get(j.Append(t.Context(), [][]byte{{1}}))(t); at[0] != before+1 || create && before != 0 {
			t.Errorf("the log ended at %d, and its next record got %d", before, at[0])
		}
	}
}

// refuse answers as a node does that knows of no stream with the subject.
func refuse(t *testing.T, m *nc.Msg) []byte {
	must.Succeed(t, m.RespondMsg(&nc.Msg{Header: nc.Header{"Status": {"503"}}}))
	return nil
}

// hosts are addresses without, and urls those with the scheme.
func hosts(urls ...string) []string {
	return strings.Split(strings.ReplaceAll(strings.Join(urls, ","), "nats://", ""), ",")
}

func urls(hosts []string) []string {
	return strings.Split("nats://"+strings.Join(hosts, ",nats://"), ",")
}

// proxyTo is a proxy to a server.
func proxyTo(t *testing.T, url string) *faultproxy.Proxy {
	t.Helper()
	return rig.Link(t, strings.TrimPrefix(url, "nats://"))
}

// TestServerKilled gives each store a server process of its own, which is killed with SIGKILL and started again with
// its data.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	place.Crashes(t, func(t *testing.T) (nats.Options, func(*testing.T)) {
		p := spawn(t, 1)
		return usual(nats.Options{Bucket: "b", URLs: p.URLs()}), func(t *testing.T) {
			p.Kill(0)
			must.Succeed(t, p.Restart(0))
			must.Succeed(t, p.Await(rig.Deadline(t)))
		}
	})
}

// TestKilledWhileItMakesAStream: a server that is killed while it makes a stream may leave the description of it
// without the checksum. The store that is opened then is there after the server's next start.
func TestKilledWhileItMakesAStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := must.Get(server.Spawn(rig.LongDeadline(t), server.Options{Dir: dir}))(t)
	t.Cleanup(p.Stop)
	again := func() {
		must.Succeed(t, p.Restart(0))
		must.Succeed(t, p.Await(rig.Deadline(t)))
	}
	o := nats.Options{Bucket: "b", URLs: p.URLs()}
	must.Succeed(t, openWith(t, o).Close())
	p.Kill(0)
	sums := must.Get(filepath.Glob(filepath.Join(dir, "*", "jetstream", "*", "streams", "*", "meta.sum")))(t)
	if len(sums) != 2 {
		t.Fatalf("the server keeps checksums in %q, want one of the documents and one of the log", sums)
	}
	for _, f := range sums {
		must.Succeed(t, os.Remove(f))
	}
	again()
	s := openWith(t, o)
	v := mustPut(t, s, "a", "x", "")
	at := appendN(t, s, 1)[0]
	p.Kill(0)
	again()
	o.ReadOnly = true
	r := openWith(t, o)
	wantValue(t, r, "a", "x", v)
	if page, err := r.Read(rig.Deadline(t), 0, 10); err != nil || len(page.Records) != 1 || page.Records[0].Index != at {
		t.Errorf("the log has %+v, %v; want the record %d", page.Records, err, at)
	}
}

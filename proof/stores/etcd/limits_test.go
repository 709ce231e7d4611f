package etcd_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/etcd"
)

// record is of a usual size.
var record = make([]byte, 200)

func fill(t *testing.T, s *etcd.Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 50 {
		wg.Go(func() {
			for i := w; i < n; i += 50 {
				if _, err := s.Append(rig.Deadline(t), record); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestServerWithFewOperations has a server that takes smaller transactions than others.
func TestServerWithFewOperations(t *testing.T) {
	t.Parallel()
	s := openWith(t, onServer(t, server.Options{TxnOps: 8}))
	fill(t, s, 500)
	if n := records(t, s); n != 500 {
		t.Fatalf("%d records, want 500", n)
	}
}

// trimMost is how many records one request removes at most: the server serves nobody else while it does.
const trimMost = 2000

func TestTrimInSteps(t *testing.T) {
	t.Parallel()
	const n = 2*trimMost + 500
	o := options()
	s, raw := openWith(t, o), rawOf(t, o)
	fill(t, s, n)
	must.Succeed(t, s.SaveSnapshot(rig.Deadline(t), store.Record{Index: n - 1}))
	began := raw.revision(t)
	must.Succeed(t, s.Trim(rig.Deadline(t), n))
	if left := raw.count(t, raw.records()); left != 1 {
		t.Fatalf("%d records are left, want 1", left)
	}
	removed := map[int64]int{} // by revision: each request has its own
	total := 0
	for r := range raw.Watch(rig.Deadline(t), raw.records(), clientv3.WithPrefix(), clientv3.WithRev(began+1)) {
		for _, e := range r.Events {
			removed[e.Kv.ModRevision]++
			total++
		}
		if total >= n-1 {
			break
		}
	}
	if total != n-1 || len(removed) < 3 || slices.Max(slices.Collect(maps.Values(removed))) > trimMost {
		t.Errorf("records removed by each request: %v, want %d in all, at most %d at once", removed, n-1, trimMost)
	}
	if _, err := s.Read(rig.Deadline(t), n-2, 10); !errors.Is(err, store.ErrTruncated) {
		t.Errorf("read: error %v, want ErrTruncated", err)
	}
	if page, err := s.Read(rig.Deadline(t), n-1, 10); err != nil || len(page.Records) != 1 {
		t.Errorf("read: %d records, %v; want 1", len(page.Records), err)
	}
}

// TestFullServer fills a server up to its quota.
func TestFullServer(t *testing.T) {
	t.Parallel()
	o := onServer(t, server.Options{Quota: 4 << 20})
	s := openWith(t, o)
	ctx := rig.Deadline(t)
	must.Succeed(t, must.Err(s.Append(ctx, record)))
	must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: 1}))
	v, err := s.Put(ctx, store.Doc{Key: "a"})
	head := uint64(1)
	for err == nil {
		var index uint64
		if index, err = s.Append(ctx, make([]byte, etcd.MaxRecord)); err == nil {
			head = index
		}
	}
	// The append that crossed the quota was made, and answered like those that were not.
	if got := headOf(t, s); got != head && (got != head+1 || !errors.Is(err, store.ErrUnknown)) {
		t.Errorf("head %d, acknowledged %d: error %v", got, head, err)
	}
	head = headOf(t, s)
	_, appendErr := s.Append(ctx, record)
	_, putErr := s.Put(ctx, store.Doc{Key: "b"})
	_, updateErr := s.Put(ctx, store.Doc{Key: "a", Version: v})
	_, sessionErr := s.OpenSession(ctx, rig.Patience)
	for call, err := range map[string]error{
		"append": appendErr, "put": putErr, "update": updateErr, "session": sessionErr,
		"save":           s.SaveSnapshot(ctx, store.Record{Index: 2}),
		"save in chunks": s.SaveSnapshot(ctx, store.Record{Index: 2, Data: make([]byte, 2*chunkBytes)}),
		"trim":           s.Trim(ctx, 1),
	} {
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrUnavailable alone", call, err)
		}
	}
	if err := s.Delete(ctx, "a", v); err != nil {
		t.Errorf("make room: %v", err)
	}
	if got := headOf(t, s); got != head {
		t.Errorf("head %d, want %d", got, head)
	}
	if s, err := etcd.Open(ctx, o); err == nil {
		s.Close()
		t.Error("a full server was opened for writing")
	} else if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("open: error %v, want ErrUnavailable", err)
	}
	o.ReadOnly = true
	observer := must.Get(etcd.Open(ctx, o))(t)
	defer observer.Close()
	if got := headOf(t, observer); got != head {
		t.Errorf("an observer reads head %d, want %d", got, head)
	}
}

func headOf(t *testing.T, s *etcd.Store) (head uint64) {
	t.Helper()
	rig.Eventually(t, "a read", func() bool { // again while there is no leader
		page, err := s.Read(rig.Deadline(t), 1<<40, 1)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		head = page.Head
		return err == nil
	})
	return head
}

// records counts what is in the log, whose indexes have no gap.
func records(t *testing.T, s *etcd.Store) (n uint64) {
	t.Helper()
	for _, r := range rig.Records(t, s) {
		if n++; r.Index != n {
			t.Fatalf("index %d follows %d", r.Index, n-1)
		}
	}
	return n
}

// errGaveUp is the cause of contexts that a test ends early.
var errGaveUp = errors.New("the caller gave up")

func leased(t *testing.T, d full.Driver, ttl time.Duration) driver.Lease {
	t.Helper()
	l := must.Get(d.Lease(rig.Deadline(t), ttl))(t)
	t.Cleanup(l.Close)
	return l
}

// behind opens a driver directly, and another one over a link.
func behind(t *testing.T) (direct, through full.Driver, link *faultproxy.Proxy, r raw) {
	t.Helper()
	o := options()
	link = rig.Link(t, o.Endpoints[0])
	over := o
	over.Endpoints = []string{link.Addr()}
	return openDriver(t, o), openDriver(t, over), link, rawOf(t, o)
}

func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	d := openDriver(t, options())
	for asked, least := range map[time.Duration]time.Duration{ // order-free: each is a lease of its own
		time.Nanosecond: time.Second, time.Second: time.Second, 3100 * time.Millisecond: 4 * time.Second,
		4 * time.Second: 4 * time.Second, time.Hour: time.Hour,
	} {
		if ttl := leased(t, d, asked).TTL(); ttl < least || ttl > max(least, 5*time.Second) {
			t.Errorf("asked for %v, the lease is of %v", asked, ttl)
		}
	}
}

// TestLeaseIsTaken has a server that ends a lease early, as a stalled leader does: the write itself notices, whatever
// was renewed before it.
func TestLeaseIsTaken(t *testing.T) {
	t.Parallel()
	o := options()
	d, r := openDriver(t, o), rawOf(t, o)
	l := leased(t, d, time.Minute)
	op := driver.Op{Key: "d/s", Name: "n.1", Value: []byte("x")}
	must.Succeed(t, must.Err(l.Swap(rig.Deadline(t), op)))
	id := must.Get(strconv.ParseInt(l.Key(), 16, 64))(t)
	must.Succeed(t, must.Err(r.Revoke(rig.Deadline(t), clientv3.LeaseID(id))))
	_, swap := l.Swap(rig.Deadline(t), op)
	_, renew := l.Renew(rig.Deadline(t))
	for call, err := range map[string]error{"swap": swap, "renew": renew} { // order-free: each is judged alone
		if !errors.Is(err, store.ErrSession) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrSession", call, err)
		}
	}
	if n := r.count(t, r.docs()); n != 0 {
		t.Errorf("%d rows of the lease are left", n)
	}
}

// TestLeaseCountsFromItsRequests holds answers back: a lease begins, and is renewed, when that was asked for.
func TestLeaseCountsFromItsRequests(t *testing.T) {
	t.Parallel()
	_, d, link, _ := behind(t)
	var l driver.Lease
	for i, call := range []func() (asked time.Time, err error){
		func() (asked time.Time, err error) {
			if l, err = d.Lease(rig.Deadline(t), time.Minute); err == nil {
				asked = l.Began()
			}
			return asked, err
		},
		func() (time.Time, error) { return l.Renew(rig.Deadline(t)) },
	} {
		link.StallReplies()
		before, over := link.Stats().Requests, make(chan struct{})
		var asked time.Time
		var err error
		go func() { defer close(over); asked, err = call() }()
		rig.Eventually(t, "the request is sent", func() bool { return link.Stats().Requests > before+2*ping })
		sent := time.Now()
		rig.Heal(t, link)
		if <-over; err != nil || asked.After(sent) {
			t.Errorf("request %d: %v, and it counts from %v after it was sent on", i, err, asked.Sub(sent))
		}
	}
	l.Close()
}

// ping is how many bytes a ping of HTTP/2 has; a call has more than two of them.
const ping = 17

// TestLeaderless loses the other two of three servers: a watch ends at the one that is left, which hears of nothing.
func TestLeaderless(t *testing.T) {
	t.Parallel()
	c := startCluster(t, server.Options{Nodes: 3, NoSync: true})
	d, over, hint := openDriver(t, through(options(), c.Endpoints()[0])), make(chan error, 1), make(chan struct{})
	go func() { over <- d.Watch(rig.Deadline(t), "w/", sync.OnceFunc(func() { close(hint) })) }()
	<-hint
	c.Kill(1)
	c.Kill(2)
	if err := <-over; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the watch ended with %v, want ErrUnavailable", err)
	}
}

// TestSilentRenewal: a lease whose stream falls silent is renewed over another connection, long before it ends.
func TestSilentRenewal(t *testing.T) {
	t.Parallel()
	o := options()
	link := rig.Link(t, o.Endpoints[0])
	d := openDriver(t, through(o, link.Addr(), o.Endpoints[0]))
	const ttl = 12 * time.Second
	var l driver.Lease
	rig.Eventually(t, "renewals take the link", func() bool { // the client takes turns
		l = leased(t, d, ttl)
		before := link.Stats().Requests
		for range 5 {
			must.Succeed(t, must.Err(l.Renew(rig.Deadline(t))))
		}
		return link.Stats().Requests > before+5*ping
	})
	link.Stall()
	began := time.Now()
	if _, err := l.Renew(rig.Deadline(t)); err != nil || time.Since(began) > ttl/2 {
		t.Errorf("renewed after %v: %v", time.Since(began), err)
	}
}

// TestRenewalInDoubt loses the answer to a renewal: nothing was written, and the lease lives.
func TestRenewalInDoubt(t *testing.T) {
	t.Parallel()
	_, d, link, _ := behind(t)
	l := leased(t, d, time.Minute)
	must.Succeed(t, must.Err(l.Renew(rig.Deadline(t))))
	link.DropReplies()
	ctx, cancel := context.WithTimeoutCause(rig.Deadline(t), 200*time.Millisecond, errGaveUp)
	defer cancel()
	if _, err := l.Renew(ctx); err == nil || errors.Is(err, store.ErrUnknown) || !errors.Is(err, errGaveUp) {
		t.Errorf("no answer to the renewal: error %v, want the cause alone", err)
	}
	rig.Heal(t, link)
	rig.Eventually(t, "a renewal after the cut", func() bool { // the connection was reset, and comes back
		_, err := l.Renew(rig.Deadline(t))
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("a renewal after the cut: %v", err)
		}
		return err == nil
	})
}

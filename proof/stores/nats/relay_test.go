package nats_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// relay passes the requests of a handle to the server that all tests share, one after the other, and the answers back.
// It knows their subjects: a test can lose or replace the answer to one step of a call, which a proxy of bytes cannot
// do. The handle is connected to a server without JetStream, which only the relay uses.
type relay struct {
	url string
	to  *nc.Conn

	mu      sync.Mutex
	count   int               // of requests
	answers map[string][]byte // the newest one to each request
	answer  answerer
}

// answerer decides what a request is answered with: nil for nothing. pass has the server do what it asks, and returns
// the server's answer.
type answerer func(request *nc.Msg, pass func() []byte) []byte

// faithful changes nothing.
func faithful(_ *nc.Msg, pass func() []byte) []byte { return pass() }

func startRelay(t *testing.T) *relay {
	t.Helper()
	r := &relay{url: bare(t, &server.Options{}), to: connect(t, address), answers: map[string][]byte{},
		answer: faithful}
	from := connect(t, r.url)
	requests, done := make(chan *nc.Msg, 1000), make(chan struct{})
	for _, subjects := range []string{"$JS.API.>", "$KV.>", "rota.>"} {
		must.Succeed(t, must.Err(from.ChanSubscribe(subjects, requests)))
	}
	must.Succeed(t, from.Flush())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case m := <-requests:
				r.serve(t, m)
			case <-done:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		wg.Wait()
	})
	return r
}

func (r *relay) serve(t *testing.T, request *nc.Msg) {
	pass := func() []byte {
		m, err := r.to.RequestMsg(&nc.Msg{Subject: request.Subject, Header: request.Header, Data: request.Data},
			rig.Patience)
		if err != nil {
			t.Errorf("relay %s: %v", request.Subject, err)
			return nil
		}
		return m.Data
	}
	r.mu.Lock()
	r.count++
	answer := r.answer
	r.mu.Unlock()
	data := answer(request, pass)
	if data == nil {
		return
	}
	r.mu.Lock()
	r.answers[identity(request)] = data
	r.mu.Unlock()
	if err := request.Respond(data); err != nil {
		t.Errorf("relay the answer to %s: %v", request.Subject, err)
	}
}

func identity(request *nc.Msg) string { return request.Subject + " " + string(request.Data) }

// with answers requests with a from now on.
func (r *relay) with(a answerer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = a
}

// onceAt answers the next request of a subject with a, and all others faithfully.
func (r *relay) onceAt(subject string, a answerer) {
	over := false
	r.with(func(m *nc.Msg, pass func() []byte) []byte {
		if over || m.Subject != subject {
			return pass()
		}
		over = true
		return a(m, pass)
	})
}

// past answers requests with the newest answers that they have had up to now.
func (r *relay) past() answerer {
	r.mu.Lock()
	defer r.mu.Unlock()
	then := maps.Clone(r.answers)
	return func(m *nc.Msg, pass func() []byte) []byte {
		if old, ok := then[identity(m)]; ok {
			return old
		}
		return pass()
	}
}

// requests is how many requests have arrived.
func (r *relay) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// sent is how many requests a handle sends in some calls. It asks for a document after them, which the relay gets after
// all that was sent before.
func (r *relay) sent(t *testing.T, s *nats.Store, calls func()) int {
	t.Helper()
	before := r.requests()
	calls()
	there(t, s, "sent")
	return r.requests() - before - 1
}

func (r *relay) open(t *testing.T, o nats.Options) *nats.Store {
	t.Helper()
	o.URLs = []string{r.url}
	return openWith(t, o)
}

// openInCluster opens a handle that takes the server for one of several: it has reads and refusals confirmed.
func (r *relay) openInCluster(t *testing.T, bucket string) (s *nats.Store) {
	t.Helper()
	r.inCluster(t, func() { s = r.open(t, nats.Options{Bucket: bucket, Timeout: 20 * time.Second}) })
	return s
}

// inCluster has the server say that it is one of several while a handle is opened.
func (r *relay) inCluster(t *testing.T, open func()) {
	t.Helper()
	rewritten := false
	r.with(func(m *nc.Msg, pass func() []byte) []byte {
		data := pass()
		if strings.HasPrefix(m.Subject, "$JS.API.STREAM.") {
			rewritten = rewritten || bytes.Contains(data, []byte(`"num_replicas":1`))
			data = bytes.ReplaceAll(data, []byte(`"num_replicas":1`), []byte(`"num_replicas":3`))
		}
		return data
	})
	open()
	r.with(faithful)
	if !rewritten {
		t.Fatal("the server does not say how many replicas there are")
	}
}

// TestRequests counts what calls send, alone and where the server is one of several.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open func(r *relay) *nats.Store
		want map[string]int
	}{
		"one server": {
			func(r *relay) *nats.Store { return r.open(t, nats.Options{Bucket: bucket()}) },
			map[string]int{"get": 1, "trim": 2, "snapshot": 2, "save": 5},
		},
		"one of three": {
			func(r *relay) *nats.Store { return r.openInCluster(t, bucket()) },
			map[string]int{"get": 2, "trim": 3, "snapshot": 3, "save": 6},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRelay(t)
			s, ctx := c.open(r), rig.Deadline(t)
			before := r.requests()
			there(t, s, "sent")
			probe := r.requests() - before // what sent asks after the calls
			owner, beside := rig.Session(t, s, time.Hour), rig.Session(t, s, time.Hour)
			mustPut(t, beside, "s/2", "x", "")
			var v, w store.Version
			var index uint64
			for _, call := range []struct {
				name string
				do   func() error
				want int
			}{
				{"create", func() (err error) { v, err = s.Put(ctx, store.Doc{Key: "a"}); return err }, 1},
				{"update", func() (err error) { v, err = s.Put(ctx, store.Doc{Key: "a", Version: v}); return err }, 1},
				{"get", func() error { _, err := s.Get(ctx, "a"); return err }, c.want["get"]},
				{"delete", func() error { return s.Delete(ctx, "a", v) }, 1},
				{"heartbeat", func() (err error) { w, err = owner.Put(ctx, store.Doc{Key: "s/1"}); return err }, 1},
				{"heartbeat again", func() (err error) {
					w, err = owner.Put(ctx, store.Doc{Key: "s/1", Version: w})
					return err
				}, 1},
				{"heartbeat with another",
					func() error { _, err := beside.Put(ctx, store.Doc{Key: "s/3"}); return err }, 2},
				{"append", func() (err error) { index, err = s.Append(ctx, []byte("x")); return err }, 1},
				{"read of the newest record", func() error { _, err := s.Read(ctx, 0, 100); return err }, 1},
				{"look without news", func() error { _, err := s.Read(ctx, index, 100); return err }, 1},
				{"save", func() error { return s.SaveSnapshot(ctx, store.Record{Index: index, Data: []byte("x")}) },
					c.want["save"]},
				{"snapshot", func() error { _, err := s.Snapshot(ctx); return err }, c.want["snapshot"]},
				{"trim", func() error { return s.Trim(ctx, index) }, c.want["trim"]},
			} {
				sent := r.sent(t, s, func() { must.Succeed(t, call.do()) }) + 1 - probe
				if t.Logf("%s: %d", call.name, sent); sent != call.want {
					t.Errorf("%s sent %d requests, want %d", call.name, sent, call.want)
				}
			}
		})
	}
}

// putNewest writes over whatever is there.
func putNewest(t *testing.T, s *nats.Store, key, value string) {
	d, err := s.Get(rig.Deadline(t), key)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err == nil {
		_, err = s.Put(rig.Deadline(t), store.Doc{Key: key, Value: []byte(value), Version: d.Version})
	}
	if err != nil {
		t.Errorf("put %q: %v", key, err)
	}
}

// TestReadsAreConfirmed changes a document after a leader has read it: in a cluster that is what a leader answers that
// was replaced.
func TestReadsAreConfirmed(t *testing.T) {
	t.Parallel()
	b, r := bucket(), startRelay(t)
	door, others, s := backdoorTo(t, b), openWith(t, nats.Options{Bucket: b}), r.openInCluster(t, b)
	for _, value := range []string{"first", "second"} { // where there was nothing, and where there was something
		r.onceAt("$JS.API.STREAM.MSG.GET."+door.docs(), func(_ *nc.Msg, pass func() []byte) []byte {
			old := pass()
			putNewest(t, others, "a", value)
			return old
		})
		if d, err := s.Get(rig.Deadline(t), "a"); err != nil || string(d.Value) != value {
			t.Errorf("get: %q, %v; want %q, which was acknowledged before the answer came", d.Value, err, value)
		}
	}
	if there(t, s, "b") {
		t.Error("there is a document that nobody wrote")
	}
}

// TestLostRecord removes a record between others: a reader must get an error that does not say that it was trimmed.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	b := bucket()
	maker, made := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	door := backdoorTo(t, bucket())
	c := made.stream(t, made.log()).CachedInfo().Config
	c.Name, c.Subjects, c.DenyDelete = door.log(), []string{door.logSubject()}, false // a stream that the store itself makes refuses what follows
	must.Succeed(t, must.Err(door.js.CreateStream(rig.Deadline(t), c)))
	s := openWith(t, nats.Options{Bucket: door.bucket})
	indexes := appendN(t, s, 5)
	must.Succeed(t, door.stream(t, door.log()).DeleteMsg(rig.Deadline(t), indexes[2]))
	if _, err := s.Read(rig.Deadline(t), 0, 10); !errors.Is(err, nats.ErrDamaged) ||
		errors.Is(err, store.ErrTruncated) {
		t.Fatalf("read: %v, want ErrDamaged", err)
	}
	if page, err := s.Read(rig.Deadline(t), indexes[2], 10); err != nil || len(page.Records) != 2 {
		t.Fatalf("read after it: %d records, %v", len(page.Records), err)
	}
	if err := made.stream(t, made.log()).DeleteMsg(rig.Deadline(t), appendN(t, maker, 2)[0]); err == nil {
		t.Fatal("a log's stream lets single records be deleted")
	}
}

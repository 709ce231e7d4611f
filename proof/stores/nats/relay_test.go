package nats_test

import (
	"bytes"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
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

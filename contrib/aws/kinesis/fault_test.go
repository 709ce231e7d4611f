package kinesis_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	api "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/contrib/aws/kinesis"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// faulty is a proxy that answers the first requests itself, with these errors in this order.
type faulty struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string // "operation error"
}

func before(t *testing.T, s *server, answers ...string) *faulty {
	f := &faulty{answers: answers}
	to, err := url.Parse(s.url)
	must.Succeed(t, err)
	real := httputil.NewSingleHostReverseProxy(to)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if len(f.answers) > 0 && strings.HasPrefix(f.answers[0], op+" ") {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"`+strings.TrimPrefix(f.answers[0], op+" ")+
				`","message":"of the test"}`)
			f.answers = f.answers[1:]
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// orders is a task type that notes what it takes. The SDK does not try again by itself.
func orders(take func(r types.Record)) rota.Type {
	once := func(o *api.Options) { o.RetryMaxAttempts = 1 }
	return kinesis.NewType("orders", kinesis.Records{Load: load, Options: []func(*api.Options){once},
		Take: func(_ context.Context, _ *rota.Grant, records []types.Record) error {
			for _, r := range records {
				take(r)
			}
			return nil
		}})
}

func join(t *testing.T, typ rota.Type, c kinesis.Config, stream string) *rota.Member {
	t.Helper()
	m, err := rota.Join(t.Context(), rota.Config{Member: "a", Store: memory.New().Open(), Types: []rota.Type{typ}})
	if err == nil {
		t.Cleanup(func() { _ = m.Leave(context.WithoutCancel(t.Context())) })
		err = m.Submit(t.Context(), "orders", kinesis.Task("orders", c, stream))
	}
	must.Succeed(t, err)
	return m
}

// A stream that is asked too often, and iterators that expire, at the beginning and in between,
// fail nothing: each record is taken once, in order.
func TestThrottledAndExpired(t *testing.T) {
	s := &swarm{server: serve(t, 1)}
	f := before(t, s.server, "GetShardIterator LimitExceededException",
		"GetRecords ProvisionedThroughputExceededException",
		"GetRecords KMSThrottlingException", "GetRecords ExpiredIteratorException")
	var mu sync.Mutex
	var lines []line
	m := join(t, orders(func(r types.Record) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, read([]byte("a s 1 "+*r.SequenceNumber+" "+*r.PartitionKey+" "+string(r.Data)+" .\n"))...)
	}), kinesis.Config{Endpoint: f.URL, Poll: quick, Batch: 50}, "orders")
	for range 3 {
		s.write()
		s.await("the records are taken", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(lines) >= s.put*perKey
		})
		f.mu.Lock()
		if len(f.answers) > 0 {
			t.Errorf("the faults %q did not come", f.answers)
		}
		f.answers = []string{"GetRecords ExpiredIteratorException", "GetRecords ExpiredIteratorException"}
		f.mu.Unlock()
		s.await("the iterator has expired twice", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.answers) == 0
		})
	}
	c := newCheck()
	for _, l := range lines {
		if err := c.add(l); err != nil {
			t.Error(err)
		}
	}
	for p := range m.Value().Partitions() {
		if p.Attempts > 0 {
			t.Errorf("%s has failed: %s", p.ID, p.Message)
		}
	}
}

// Records that arrived before Config.From are left out.
func TestFrom(t *testing.T) {
	s := &swarm{server: serve(t, 1)}
	var all []types.Record
	s.await("records arrive at two times", func() bool {
		s.write()
		i, err := s.GetShardIterator(s.ctx, &api.GetShardIteratorInput{
			StreamName: name, ShardId: s.open()[0].ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		must.Succeed(t, err)
		out, err := s.GetRecords(s.ctx, &api.GetRecordsInput{ShardIterator: i.ShardIterator})
		must.Succeed(t, err)
		all = out.Records
		return all[len(all)-1].ApproximateArrivalTimestamp.After(*all[0].ApproximateArrivalTimestamp)
	})
	from := *all[len(all)-1].ApproximateArrivalTimestamp
	first := slices.IndexFunc(all, func(r types.Record) bool { return !r.ApproximateArrivalTimestamp.Before(from) })
	took := make(chan string, len(all))
	typ := orders(func(r types.Record) { took <- *r.SequenceNumber })
	join(t, typ, kinesis.Config{Endpoint: s.url, From: from}, "orders")
	for _, r := range all[first:] {
		if got := <-took; got != *r.SequenceNumber {
			t.Fatalf("%s was taken, not %s", got, *r.SequenceNumber)
		}
	}
}

// Records whose Take has failed come again, from the first of them on: nothing is done before Take has said so.
func TestWhatWasNotTakenComesAgain(t *testing.T) {
	s := &swarm{server: serve(t, 1)}
	s.write()
	var failed atomic.Value
	again := make(chan string, 100*perKey)
	typ := kinesis.NewType("orders", kinesis.Records{Load: load,
		Take: func(_ context.Context, _ *rota.Grant, records []types.Record) error {
			if failed.CompareAndSwap(nil, *records[0].SequenceNumber) {
				return errors.New("the disk is full")
			}
			for _, r := range records {
				again <- *r.SequenceNumber
			}
			return nil
		}})
	join(t, typ, kinesis.Config{Endpoint: s.url, Poll: quick, Batch: 10}, "orders")
	s.await("all records are taken", func() bool { return len(again) == s.put*perKey })
	if got := <-again; got != failed.Load() {
		t.Errorf("the first record that comes again is %s, want %s", got, failed.Load())
	}
}

// An error names the stream, the place, and what to try.
func TestErrorsSayWhatToTry(t *testing.T) {
	s := serve(t, 1)
	denied := before(t, s, "ListShards AccessDeniedException")
	for _, c := range []struct {
		name, url, stream string
		words             []string
	}{
		{"no stream", s.url, "nowhere",
			[]string{"the shards of nowhere at " + s.url, "try: create the stream nowhere"}},
		{"not allowed", denied.URL, "orders", []string{"AccessDenied", "try: allow this process kinesis:ListShards"}},
		{"no server", "http://127.0.0.1:1", "orders", []string{"try: look whether the endpoint is right"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := join(t, orders(func(types.Record) {}), kinesis.Config{Endpoint: c.url}, c.stream)
			message := ""
			s.await("it fails", func() bool {
				p, _ := m.Value().Partition(cluster.NewPartitionID("orders", "", c.stream))
				message = p.Message
				return message != ""
			})
			for _, w := range c.words {
				if !strings.Contains(message, w) {
					t.Errorf("%q lacks %q", message, w)
				}
			}
		})
	}
}

// A config tells every fault at once.
func TestConfigFaults(t *testing.T) {
	t.Parallel()
	d := work.Definition{Config: []byte(`{"endpoint":"server:1","poll":"1us","batch":20000}`)}
	_, err := orders(nil).New(d)
	for _, w := range []string{"config.endpoint", "config.poll", "config.batch"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v lacks %q", err, w)
		}
	}
}

// A shard ends whose neighbour in a merge nobody knows yet, since what that one continues is still
// being read: the neighbour adds the child, and nothing fails.
func TestMergeWithOneThatComesLater(t *testing.T) {
	s := &swarm{server: serve(t, 2)}
	s.write()
	open := s.open()
	left, right := open[0], open[1]
	s.turn(func() { s.split(right) })
	s.turn(func() { s.merge(left, s.open()[1]) })
	s.write()
	gate, taken := make(chan struct{}), make(chan string, 100*perKey)
	take := func(ctx context.Context, g *rota.Grant, records []types.Record) error {
		if g.Key == "orders/"+*right.ShardId {
			select {
			case <-gate:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		for _, r := range records {
			taken <- *r.PartitionKey + " " + string(r.Data)
		}
		return nil
	}
	typ := kinesis.NewType("orders", kinesis.Records{Load: load, Take: take})
	m := join(t, typ, kinesis.Config{Endpoint: s.url, Poll: quick}, "orders")
	s.await("the left shard is finished", func() bool {
		p, _ := m.Value().Partition(cluster.NewPartitionID("orders", "", "orders/"+*left.ShardId))
		if p.Attempts > 0 {
			t.Fatal(p.Message)
		}
		return p.State == cluster.PartitionFinished
	})
	close(gate)
	s.await("all records are taken", func() bool { return len(taken) == s.put*perKey })
	var merged [][]string
	for p := range m.Value().Partitions() {
		if p.Attempts > 0 {
			t.Errorf("%s has failed: %s", p.ID, p.Message)
		}
		if len(p.Parents) == 2 {
			merged = append(merged, p.Parents)
		}
	}
	want := []string{"orders/" + *left.ShardId, "orders/shardId-000000000002"}
	if len(merged) != 1 || !slices.Equal(merged[0], want) {
		t.Errorf("merged are %q, want %q", merged, want)
	}
}

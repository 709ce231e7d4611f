package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/server/child"
	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/publish"
)

// TestSinks: one member publishes to standard output, Kafka, Elasticsearch and OTLP, by HTTP and by gRPC, at once. Each
// server is killed and started again while the others go on: what was printed is in each of them at least once, but for
// what the collector refused, which is counted.
func TestSinks(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*patience)
	defer cancel()
	broker, err := kafka.Start(ctx, kafka.Options{})
	child.Require(t, "kafka", err)
	t.Cleanup(broker.Stop)
	search, err := elastic.Start(ctx, elastic.Options{Kind: elastic.Elasticsearch})
	child.Require(t, "elasticsearch", err)
	t.Cleanup(search.Stop)
	makeTopic(ctx, t, broker)
	makeStream(t, search)
	otlp := &receiver{t: t, points: map[string]bool{}}
	otlp.start("127.0.0.1:0")
	t.Cleanup(otlp.stop)
	other := &grpcReceiver{receiver: receiver{t: t, points: map[string]bool{}}}
	other.start("127.0.0.1:0")
	t.Cleanup(other.stop)

	for i := range 5 {
		p.task(fmt.Sprintf("t%d.yaml", i), "type: noop\nevery: 100ms\nconfig: {emit: true}\n")
	}
	m := p.start("a", "tasks", "--listen", "127.0.0.1:0", "--publish", "stdout", "--publish",
		"kafka://"+broker.Servers()[0]+"?topic=samples&timeout=3s",
		"--publish", "elastic://"+search.Servers()[0]+"?index=samples&timeout=3s", "--publish", "otlp://"+otlp.address,
		"--publish", "otlp+grpc://"+other.address)
	api := m.api()
	growing := func(except string) {
		t.Helper()
		var before, now map[string]publish.Status
		await(t, "the sinks are shown", func() bool { before = sinks(api); return len(before) == 5 })
		defer func() {
			if t.Failed() {
				t.Logf("the sinks: %+v", now)
			}
		}()
		await(t, "all sinks go on but "+except, func() bool {
			if now = sinks(api); len(now) != 5 {
				return false
			}
			for kind, s := range now {
				if kind != except && s.Sent < before[kind].Sent+30 {
					return false
				}
			}
			return true
		})
	}
	await(t, "five sinks are shown", func() bool { return len(sinks(api)) == 5 })
	growing("none")
	for kind, outage := range map[string]struct{ stop, start func() error }{
		"kafka":   {func() error { return broker.Kill(0) }, func() error { return broker.Restart(ctx, 0) }},
		"elastic": {func() error { return search.Kill(0) }, func() error { return search.Restart(ctx, 0) }},
		"otlp+grpc": {func() error { other.stop(); return nil },
			func() error { other.start(other.address); return nil }},
		"otlp": {func() error { otlp.stop(); return nil }, func() error { otlp.start(otlp.address); return nil }},
	} {
		must.Succeed(t, outage.stop())
		await(t, kind+" lags", func() bool {
			s := sinks(api)[kind]
			return s.Queued > 0 && s.LastError != "" && s.LagMS > 0
		})
		growing(kind)
		must.Succeed(t, outage.start())
		growing("none")
	}
	otlp.refuse(true)
	await(t, "what the collector refuses is dropped", func() bool { return sinks(api)["otlp"].Dropped >= 10 })
	otlp.refuse(false)
	growing("none")
	for i := range 5 {
		p.task(fmt.Sprintf("t%d.yaml", i), "type: noop\nevery: 1h\n")
	}
	var last map[string]publish.Status
	await(t, "all is sent", func() bool {
		before := last
		last = sinks(api)
		for kind, s := range last {
			if s.Queued > 0 || s.Sent != before[kind].Sent {
				return false
			}
		}
		return len(before) == 5
	})
	text, _, _ := p.rota("status", "--store", p.store)
	t.Logf("%s", text)
	for _, want := range []string{"kafka://" + broker.Servers()[0] + "?topic=samples", "elastic://" +
		search.Servers()[0], "otlp://" + otlp.address, "otlp+grpc://" + other.address, "on a", "dropped 0", "errors "} {
		if !strings.Contains(text, want) {
			t.Errorf("status lacks %q", want)
		}
	}
	m.signal(syscall.SIGTERM)
	if code := m.end(); code != exitOK {
		t.Errorf("exit %d: %s", code, m.Stderr.String())
	}
	checkSinks(ctx, t, m.Stdout.String(), last, broker, search, otlp, other)
}

func checkSinks(ctx context.Context, t *testing.T, text string, last map[string]publish.Status, broker *kafka.Cluster,
	search *elastic.Cluster, otlp *receiver, other *grpcReceiver) {
	t.Helper()
	for kind, s := range last { // two rounds of a task may be in one millisecond: they are one sample below
		if n := int64(strings.Count(text, "\n")); s.Sent+s.Dropped != n || kind != "otlp" && s.Dropped > 0 {
			t.Errorf("%s counted %+v of %d samples", kind, s, n)
		}
	}
	want := printed(t, text)
	missing := func(where string, has map[string]bool) (n int) {
		for k := range want {
			if !has[k] {
				n++
			}
		}
		for k := range has {
			if !want[k] {
				t.Errorf("%s has %s, which was never printed", where, k)
			}
		}
		t.Logf("%s: %d of %d samples", where, len(has), len(want))
		return n
	}
	if n := missing("kafka", consumed(ctx, t, broker, len(want))); n > 0 {
		t.Errorf("kafka lacks %d samples", n)
	}
	if n := missing("elastic", found(t, search)); n > 0 {
		t.Errorf("elastic lacks %d samples", n)
	}
	other.mu.Lock()
	defer other.mu.Unlock()
	if n := missing("otlp+grpc", other.points); n > 0 {
		t.Errorf("otlp+grpc lacks %d samples", n)
	}
	otlp.mu.Lock()
	defer otlp.mu.Unlock()
	if n := missing("otlp", otlp.points); int64(n) != last["otlp"].Dropped || n != otlp.refused {
		t.Errorf("otlp lacks %d samples; it refused %d, and %d were counted", n, otlp.refused, last["otlp"].Dropped)
	}
}

// api is the address of the API that a member says when it has joined.
func (m *running) api() string {
	m.t.Helper()
	var address string
	await(m.t, "the member says where its API is", func() (ok bool) {
		_, address, ok = strings.Cut(m.Stderr.String(), "API http://")
		return ok && strings.ContainsAny(address, " \n")
	})
	return address[:strings.IndexAny(address, " \n")]
}

// sinks are those of the member by their kinds; nil where the API does not answer.
func sinks(api string) map[string]publish.Status {
	resp, err := http.Get("http://" + api + "/v1/status") //nolint:noctx // the await has a bound
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var s struct {
		Local struct{ Sinks []publish.Status }
	}
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return nil
	}
	all := map[string]publish.Status{}
	for _, s := range s.Local.Sinks {
		kind, _, _ := strings.Cut(s.Name, ":")
		all[kind] = s
	}
	return all
}

func pointKey(name, task string, atMS int64, value float64) string {
	return fmt.Sprintf("%s of %s: %v at %d", name, task, value, atMS)
}

func printed(t *testing.T, text string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		var s publish.Sample
		if err := json.Unmarshal([]byte(line), &s); err != nil || len(s.Points) != 1 {
			t.Fatalf("line %q: %v", line, err)
		}
		out[pointKey(s.Name, s.Tags["task"], s.Points[0].AtMS, s.Points[0].Value)] = true
	}
	return out
}

func makeTopic(ctx context.Context, t *testing.T, c *kafka.Cluster) {
	t.Helper()
	client := must.Get(c.Client())(t)
	defer client.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "samples", 2, 1
	req.Topics = append(req.Topics, topic)
	if resp, err := req.RequestWith(ctx, client); err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("create topic: %v, %+v", err, resp)
	}
}

// consumed reads the topic until it has as many samples, or nothing more comes.
func consumed(ctx context.Context, t *testing.T, c *kafka.Cluster, n int) map[string]bool {
	t.Helper()
	client := must.Get(c.Client(kgo.ConsumeTopics("samples"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())))(t)
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := map[string]bool{}
	for len(out) < n && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			for k := range printed(t, string(r.Value)) {
				out[k] = true
			}
		})
	}
	return out
}

func ask(t *testing.T, c *elastic.Cluster, method, path, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+c.Servers()[0]+path, strings.NewReader(body))
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %v, %d %s", method, path, err, resp.StatusCode, b)
	}
	return b
}

// makeStream says that samples is a data stream, as the guide has it.
func makeStream(t *testing.T, c *elastic.Cluster) {
	t.Helper()
	ask(t, c, "PUT", "/_index_template/samples",
		`{"index_patterns":["samples"],"data_stream":{},"template":{"settings":{"number_of_replicas":0},
		"mappings":{"properties":{"name":{"type":"keyword"},"value":{"type":"double"},"tags":{"type":"flattened"}}}}}`)
}

func found(t *testing.T, c *elastic.Cluster) map[string]bool {
	t.Helper()
	ask(t, c, "POST", "/samples/_refresh", "")
	var answer struct {
		Hits struct {
			Hits []struct {
				Source struct {
					At    int64 `json:"@timestamp"`
					Name  string
					Value float64
					Tags  map[string]string
				} `json:"_source"`
			}
		}
	}
	must.Succeed(t, json.Unmarshal(ask(t, c, "GET", "/samples/_search?size=10000", ""), &answer))
	out := map[string]bool{}
	for _, h := range answer.Hits.Hits {
		k := pointKey(h.Source.Name, h.Source.Tags["task"], h.Source.At, h.Source.Value)
		if out[k] {
			t.Errorf("%s is there twice", k)
		}
		out[k] = true
	}
	return out
}

// receiver is a collector of OTLP that decodes with the official types.
type receiver struct {
	t       *testing.T
	address string
	server  *http.Server

	mu      sync.Mutex
	points  map[string]bool
	refuses bool
	refused int // points
}

func (r *receiver) start(address string) {
	var l net.Listener
	await(r.t, "the port of the collector is free", func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", address)
		return err == nil
	})
	r.address = l.Addr().String()
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.t.Error(err)
		}
	}(r.server)
}

func (r *receiver) stop() { _ = r.server.Close() }

func (r *receiver) refuse(is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = is
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(req.Body); err != nil {
		return // the client is gone
	}
	var export collector.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body.Bytes(), &export); err != nil || req.URL.Path != "/v1/metrics" {
		r.t.Errorf("%s: %v", req.URL.Path, err)
	}
	if r.take(&export) {
		http.Error(w, "what is this", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// take notes the points of a request, and reports whether it is refused.
func (r *receiver) take(export *collector.ExportMetricsServiceRequest) (refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range export.ResourceMetrics {
		if a := resource.Resource.Attributes; len(a) != 1 || a[0].Key != "service.name" ||
			a[0].Value.GetStringValue() != "rota" {
			r.t.Errorf("resource %v", resource.Resource)
		}
		for _, m := range resource.ScopeMetrics[0].Metrics {
			for _, point := range m.GetGauge().DataPoints {
				task := ""
				for _, a := range point.Attributes {
					if a.Key == "task" {
						task = a.Value.GetStringValue()
					}
				}
				if r.refuses {
					r.refused++
					continue
				}
				r.points[pointKey(m.Name, task, int64(point.TimeUnixNano/1_000_000), point.GetAsDouble())] = true
			}
		}
	}
	return r.refuses
}

// grpcReceiver is a collector of OTLP over gRPC, on the official service.
type grpcReceiver struct {
	collector.UnimplementedMetricsServiceServer
	receiver
	rpc *grpc.Server
}

func (r *grpcReceiver) start(address string) {
	var l net.Listener
	await(r.t, "the port of the collector is free", func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", address)
		return err == nil
	})
	r.address, r.rpc = l.Addr().String(), grpc.NewServer()
	collector.RegisterMetricsServiceServer(r.rpc, r)
	go func(s *grpc.Server) {
		if err := s.Serve(l); err != nil {
			r.t.Error(err)
		}
	}(r.rpc)
}

func (r *grpcReceiver) stop() { r.rpc.Stop() }

// Export implements collector.MetricsServiceServer.
func (r *grpcReceiver) Export(_ context.Context,
	export *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	r.take(export)
	return &collector.ExportMetricsServiceResponse{}, nil
}

package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/journal"
)

// event is one of a stream.
type event struct{ id, name, data string }

// events reads a stream of the API.
type events struct {
	t *testing.T
	r *bufio.Scanner
}

// next is the next event; comments are passed over.
func (s *events) next() (e event) {
	s.t.Helper()
	for s.r.Scan() {
		key, value, _ := strings.Cut(s.r.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.data != "" {
				return e
			}
		}
	}
	s.t.Fatalf("the stream ended: %v", s.r.Err())
	return e
}

func listen(t *testing.T, url, last string) *events { return listenTo(t, url+"/v1/events", last) }

func listenTo(t *testing.T, url, last string) *events {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	r.Header.Set("Last-Event-ID", last)
	answer := must.Get(http.DefaultClient.Do(r))(t)
	t.Cleanup(func() { answer.Body.Close() })
	if got := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", answer.StatusCode, got)
	}
	return &events{t, bufio.NewScanner(answer.Body)}
}

// TestEvents: a stream begins with where it is, then says what changes, and nothing twice; one with the identifier of
// an event goes on from there.
func TestEvents(t *testing.T) {
	var value atomic.Value
	value.Store(world(t))
	s := httptest.NewServer(api.Handler(api.Config{Value: func() cluster.Value { return value.Load().(cluster.Value) },
		Store: "memory:", Protocol: "replica"}))
	t.Cleanup(s.Close) // after the streams
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	do := func(c ...cluster.Command) cluster.Value {
		v := value.Load().(cluster.Value)
		v = values.Apply(t, v, values.Entry(v, 9000, c...))
		value.Store(v)
		return v
	}

	stream := listen(t, s.URL, "")
	var begin api.Beginning
	first := stream.next()
	err := json.Unmarshal([]byte(first.data), &begin)
	if err != nil || first.name != "begin" || begin.Index != uint64(value.Load().(cluster.Value).Index()) ||
		begin.Store != "memory:" {
		t.Fatalf("%+v, %v", first, err)
	}
	next := do(cluster.LeaveCluster{Member: "a", Incarnation: 1}, cluster.KillJob{Job: "waits"})
	for name, e := range map[string]event{"on the way": stream.next(),
		"since the beginning": listen(t, s.URL, first.id).next()} {
		var changed api.Changed
		if err := json.Unmarshal([]byte(e.data), &changed); err != nil || e.name != "changed" ||
			changed.Index != uint64(next.Index()) {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		if len(changed.GoneMembers) != 1 || changed.GoneMembers[0] != "a" || len(changed.Tasks) == 0 ||
			len(changed.GoneTasks) != 1 || changed.GoneTasks[0] != "waits" {
			t.Errorf("%s: got %+v", name, changed)
		}
		for _, task := range changed.Tasks {
			if p, ok := next.Partition(cluster.PartitionID(task.Task)); !ok || string(p.Owner) != task.Owner {
				t.Errorf("%s: %+v is not what the value has: %+v", name, task, p)
			}
		}
	}
	do(cluster.Configure{MoveBudget: cluster.NoMoves})
	if e := stream.next(); e.name != "ready" || !strings.Contains(e.data, `"pinned":true`) {
		t.Errorf("got %+v, want that what runs stays where it is", e)
	}
	if e := listen(t, s.URL, "999").next(); e.name != "begin" {
		t.Errorf("got %+v, want begin: nobody has seen that index", e)
	}
}

// TestThePageIsServed: it comes without a token, allows nothing from elsewhere, and all that it names is there.
func TestThePageIsServed(t *testing.T) {
	s := httptest.NewServer(api.Handler(api.Config{Value: func() cluster.Value { return cluster.Value{} },
		Token: "secret"}))
	defer s.Close()
	framed := regexp.MustCompile("default-src 'none'.*frame-ancestors 'none'") // by nobody
	for path, kind := range map[string]string{"/": "text/html", "/page/main.js": "text/javascript",
		"/page/style.css": "text/css", "/page/icon.svg": "image/svg+xml"} { // order-free
		r := must.Get(http.Get(s.URL + path))(t)
		r.Body.Close()
		if !strings.HasPrefix(r.Header.Get("Content-Type"), kind) || r.StatusCode != http.StatusOK ||
			r.Header.Get("Referrer-Policy") != "no-referrer" ||
			!framed.MatchString(r.Header.Get("Content-Security-Policy")) {
			t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
		}
	}
	r := must.Get(http.Get(s.URL + "/v1/events"))(t)
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("events without a token: %d", r.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestJournalEventsOfManyPages: a client that was away while more records came than a page has gets all of them, each
// once and oldest first.
func TestJournalEventsOfManyPages(t *testing.T) {
	const records = 23_000 // a page has 10,000
	for _, perMS := range []int{100, records} {
		begin := time.Now().Add(-time.Minute).UnixMilli()
		kept := journal.NewMemory(records)
		for i := range records {
			r := journal.Record{AtMS: begin + int64(i/perMS), Kind: journal.Moved, Partition: fmt.Sprint("t", i),
				To: "a"}
			must.Succeed(t, kept.Append(t.Context(), r))
		}
		s := httptest.NewServer(api.Handler(api.Config{Value: func() cluster.Value { return cluster.Value{} },
			Journal: kept}))
		t.Cleanup(s.Close)
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		stream := listenTo(t, s.URL+"/v1/journal/events", fmt.Sprintf("%d.0", begin))
		for i := range records {
			if e := stream.next(); !strings.Contains(e.data, fmt.Sprintf(`"partition":"t%d"`, i)) {
				t.Fatalf("%d records in a millisecond: record %d is %s", perMS, i, e.data)
			}
		}
	}
}

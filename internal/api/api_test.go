package api_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// after is the value after one entry.
func after(commands ...cluster.Command) cluster.Value {
	v, _ := cluster.Value{}.Apply(values.Entry(cluster.Value{}, 0, commands...))
	return v
}

// world is a small cluster with one task of each kind of fortune.
func world(t *testing.T) cluster.Value {
	t.Helper()
	var v cluster.Value
	job := func(name string, spec cluster.TaskSpec) cluster.SubmitJob {
		spec.Type, spec.Definition = "noop", []byte(`{"config":{"password":"hunter2"}}`)
		return cluster.SubmitJob{Job: cluster.JobID(name),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}, Source: "tasks"}}
	}
	for i, commands := range [][]cluster.Command{
		{cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1", Labels: []cluster.Label{{Key: "zone", Value: "x"}},
			Address: "127.0.0.1:7600", Version: "1"}},
		{
			job("runs", cluster.TaskSpec{}), job("parks", cluster.TaskSpec{MaxAttempts: 1}),
			job("waits", cluster.TaskSpec{Selector: []cluster.Label{{Key: "gpu", Value: "yes"}}}),
			job("rota.source.tasks", cluster.TaskSpec{}),
		},
		{cluster.FinishPartition{Partition: "parks", Token: 2, Outcome: cluster.OutcomeFailed,
			Message: "connection refused"}},
		{cluster.PrepareJoin{Member: "b", Heartbeat: "pulse/b/1"}},
		{cluster.AcceptJoin{Member: "b", Incarnation: 4, By: "a", ByIncarnation: 1}},
		{cluster.DrainMember{Member: "a", On: true}},
	} {
		v = values.Apply(t, v, values.Entry(v, int64(1000*(i+1)), commands...))
	}
	return v
}

// records is a journal in memory that takes part in no cluster.
type records struct {
	all []journal.Record
	err error
}

func (r records) Append(context.Context, ...journal.Record) error { return nil }

func (r records) Read(_ context.Context, q journal.Query) ([]journal.Record, error) {
	var out []journal.Record
	for _, x := range r.all {
		if q.Partition == "" || x.Partition == q.Partition {
			out = append(out, x)
		}
	}
	return out, r.err
}

func milliseconds(n int64) *int64 { return &n }

func config(t *testing.T) api.Config {
	v := world(t)
	return api.Config{
		Value: func() cluster.Value { return v }, Store: "file:data", Member: "a", Protocol: "replica",
		Journal: records{all: []journal.Record{
			{AtMS: 1, Kind: journal.Moved, Partition: "runs", From: "b", To: "a", GapMS: milliseconds(12)},
			{AtMS: 2, Kind: journal.Moved, Partition: "waits", From: "b", To: "a"},
		}},
		Ready:   func() []string { return []string{"it has not joined the cluster"} },
		Local:   func() any { return map[string]int{"up_ms": 5} },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "rota_up 1") }),
	}
}

func request(c api.Config, method, path string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	api.Handler(c).ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b := must.Get(io.ReadAll(r.Body))(t)
	return string(b)
}

var digest = regexp.MustCompile(`"digest": "[0-9a-f]{16}"`)

// TestAnswers compares each path's answer with testdata, where a field that disappears or changes its name shows.
func TestAnswers(t *testing.T) {
	t.Parallel()
	c := config(t)
	datadriven.RunTest(t, "testdata/answers", func(t *testing.T, d *datadriven.TestData) string {
		res := request(c, d.Cmd, strings.TrimSpace(d.Input), nil)
		text := body(t, res)
		if strings.Contains(text, "hunter2") {
			t.Error("the answer shows a definition")
		}
		if res.Header.Get("Content-Type") == "application/json" {
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			b := must.Get(json.MarshalIndent(v, "", "  "))(t)
			text = digest.ReplaceAllString(string(b), `"digest": "…"`) + "\n"
		}
		return res.Status + "\n" + text
	})
}

// TestTheDescriptionHasAllFields: those of what is embedded too, and those that streams send. The module proof checks
// answers against it.
func TestTheDescriptionHasAllFields(t *testing.T) {
	t.Parallel()
	text := body(t, request(config(t), "GET", "/v1/openapi.json", nil))
	for _, want := range []string{`"Why":{"properties":{"as_of_ms"`, `"Changed":{"properties":{"gone_members"`,
		`"name":"kind","required":false,"schema":{"items":`, `"result":{}`,
		`"/v1/status":{"get":{"operationId":"status",`,
		`"required":["at_ms","commands","digest","index","seq","writer"],"type":"object"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	refused, paths := strings.Count(text, `"400":{`), strings.Count(text, `"/v1/`)
	if ready := strings.Count(text, `schemas/Readiness"`); refused != paths || ready != 2 {
		t.Errorf("%d of %d paths refuse wrong parameters, %d answers say whether it is ready", refused, paths, ready)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	full := api.Access{TLS: &tls.Config{MinVersion: tls.VersionTLS12}, Token: "x"}
	for _, c := range []struct {
		address string
		access  api.Access
		ok      bool
	}{
		{"127.0.0.1:0", api.Access{}, true},
		{"localhost:0", api.Access{}, true},
		{"0.0.0.0:0", api.Access{}, false},
		{":0", api.Access{}, false},
		{"example.org:0", api.Access{}, false},
		{"0.0.0.0:0", api.Access{Token: "x"}, false},
		{"0.0.0.0:0", api.Access{TLS: full.TLS}, false},
		{"0.0.0.0:0", full, true},
		{"0.0.0.0:0", api.Access{TLS: full.TLS, Users: make(api.Users, 1)}, true},
		{"127.0.0.1", api.Access{}, false},
		{"127.0.0.1:http", api.Access{}, false},
		{"127.0.0.1:70000", api.Access{}, false},
	} {
		l, err := api.Listen(c.address, c.access)
		if (err == nil) != c.ok {
			t.Errorf("%s: got %v", c.address, err)
		}
		if err == nil {
			if _, plain := l.(*net.TCPListener); plain != (c.access.TLS == nil) {
				t.Errorf("%s: it is a %T", c.address, l)
			}
			l.Close()
		}
	}
}

func TestListenLooksForAFreePort(t *testing.T) {
	t.Parallel()
	first := must.Get(api.Listen("", api.Access{}))(t)
	defer first.Close()
	second := must.Get(api.Listen("", api.Access{}))(t)
	defer second.Close()
	a, b := first.Addr().(*net.TCPAddr).Port, second.Addr().(*net.TCPAddr).Port
	if a == b || a < 7600 || b > api.LastPort {
		t.Errorf("got ports %d and %d", a, b)
	}
	if named, err := api.Listen(first.Addr().String(), api.Access{}); err == nil {
		t.Errorf("a port that was named is taken, so it listens on %s", named.Addr())
		named.Close()
	}
}

func TestServeTellsWhyItEnded(t *testing.T) {
	t.Parallel()
	l := must.Get(api.Listen("127.0.0.1:0", api.Access{}))(t)
	l.Close()
	if err := api.Serve(t.Context(), l, config(t)); err == nil {
		t.Error("serving on a closed listener is no error")
	}
}

// The HTTP API shows what the lookout sees, on each path that shows states, and the sums of rota status.
func TestTheServerLooks(t *testing.T) {
	t.Parallel()
	v := after(cluster.PrepareJoin{Member: "a", Heartbeat: protocol.HeartbeatPrefix + "a",
		Labels: []cluster.Label{{Key: directory.LabelKey("s"), Value: "yes"}}},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	docs := memory.New().Open()
	c := api.Config{
		Value: func() cluster.Value { return v }, Lookout: view.NewLookout(docs, func() protocol.Instant { return 1 }),
		Journal: records{all: []journal.Record{{Kind: journal.Malformed, Partition: "never", AtMS: 1,
			Message: "unknown field"}}},
	}
	shows := func(wanted map[string]string) {
		t.Helper()
		for path, want := range wanted { // order-free: each by itself
			if got := body(t, request(c, "GET", path, nil)); !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", path, want, got)
			}
		}
	}
	shows(map[string]string{
		"/v1/status":     `"silent":1`,
		"/v1/members":    `"heartbeat":{"state":"gone"}`,
		"/v1/tasks":      `"state":"owner silent","owner":"a"`,
		"/v1/why?task=j": `"rule":"owner"`,
	})
	p, _ := v.Partition("j")
	for key, text := range map[string]string{ // order-free: two documents
		protocol.HeartbeatPrefix + "a": `{"ttl_ms":10000}`,
		node.FailingPrefix + "a": fmt.Sprintf(`{"member":"a","at_ms":9000,"failing":1,"runs":[
			{"partition":"j","token":%d,"state":"failing","since_ms":5000,"rounds":7,"failures":3,"message":"connection refused"}]}`, p.Token),
	} {
		_, err := docs.Put(t.Context(), store.Doc{Key: key, Value: []byte(text)})
		must.Succeed(t, err)
	}
	shows(map[string]string{
		"/v1/status":              `"malformed":1`,
		"/v1/tasks?state=failing": `"failures":3,"rounds":7,"message":"connection refused","failing_ms":5000,"as_of_ms":9000`,
		"/v1/why?task=j":          `"failing_ms":5000`,
		"/v1/job?job=j":           `"state":"failing"`,
		"/v1/jobs":                `"state":"failing"`,
	})
	docs.Close()
	for _, path := range []string{"/v1/status", "/v1/members", "/v1/tasks", "/v1/why?task=j", "/v1/jobs",
		"/v1/job?job=j"} {
		if got := request(c, "GET", path, nil); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %s where the store does not answer", path, got.Status)
		}
	}
}

// TestAsked plays testdata/asked.txt: whom is asked, the method, the path, headers NAME=VALUE ("_" is a space) and
// body=TEXT, and behind "=>" the status and what the answer says.
func TestAsked(t *testing.T) {
	t.Parallel()
	all := askable(t)
	for question, said := range stories.Rows(t, "testdata/asked.txt", "$LONG", strings.Repeat("x", 1<<20+1), "$MANY",
		strings.Repeat("1s", 5000), "$NULS", strings.Repeat("%00", 3000)) {
		w := strings.Fields(question)
		r := request(all[w[0]], w[1], w[2], func(r *http.Request) {
			for _, more := range w[3:] {
				switch name, value, _ := strings.Cut(more, "="); name {
				case "body":
					r.Body = io.NopCloser(strings.NewReader(value))
				case "Host":
					r.Host = value
				default:
					r.Header.Set(name, strings.ReplaceAll(value, "_", " "))
				}
			}
		})
		if h := r.Header; (h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff") &&
			!strings.HasPrefix(w[2], "/healthz") || (r.StatusCode == http.StatusUnauthorized) != (h.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%.200s: %v", question, h)
		}
		answer := body(t, r)
		if got := fmt.Sprint(r.StatusCode, " ", answer); !said.In(got) {
			t.Errorf("%.200s\ngot %.500s", question, got)
		}
		var fault api.Fault // it is said once, and nothing else is
		if err := json.Unmarshal([]byte(answer), &fault); r.StatusCode >= http.StatusBadRequest &&
			strings.HasPrefix(w[2], "/v1/") && (err != nil || fault.Error == "") ||
			r.StatusCode == http.StatusMethodNotAllowed &&
				!strings.Contains(answer, "takes "+strings.Split(r.Header.Get("Allow"), ",")[0]+",") {
			t.Errorf("%.200s\ngot %.500s, %v", question, answer, err)
		}
	}
}

// askable are those who are asked.
func askable(t *testing.T) map[string]api.Config {
	t.Helper()
	nobody := func() cluster.Value { return cluster.Value{} }
	closed := config(t)
	closed.Token = "secret"
	past := newLog(t, 2, 1000, 2000, 3400, 4000)
	docs := memory.New().Open()
	t.Cleanup(func() { docs.Close() })
	lost := newLog(t, 2, 1000, 2000, 3000)
	lost.err = errors.New("the store is away")
	refuses := &acting{answer: cluster.Result{Reason: "there is no such job"}}
	hangs := &acting{err: context.DeadlineExceeded}
	return map[string]api.Config{
		"open":    config(t),
		"closed":  closed,
		"empty":   {Value: nobody},
		"past":    {Value: func() cluster.Value { return past.values[4] }, Past: &view.Past{Historian: past}},
		"lost":    {Value: nobody, Past: &view.Past{Historian: lost}},
		"new":     {Value: nobody, Past: &view.Past{Historian: newLog(t, 0)}},
		"logless": {Value: nobody, Store: "file:x", Protocol: "lease"},
		"placed": {Value: nobody, Member: "a", Store: "file:x", Place: "the_place",
			Local: func() any { return nobody }},
		"journal": {Value: nobody, Journal: journal.NewMemory(1)},
		"calls":   {Value: nobody, Lookout: view.NewLookout(docs, protocol.Now)},
		"away":    {Value: nobody, Journal: records{err: store.ErrUnavailable}},
		"acts":    refuses.config(t),
		"accepts": (&acting{answer: cluster.Result{Accepted: true}}).config(t),
		"hangs":   hangs.config(t),
	}
}

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
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a small cluster with one task of each kind of fortune.
func world(t *testing.T) cluster.Value {
	t.Helper()
	var v cluster.Value
	job := func(name string, spec cluster.TaskSpec) cluster.SubmitJob {
		spec.Type, spec.Definition = "noop", []byte(`{"config":{"password":"hunter2"}}`)
		return cluster.SubmitJob{Job: cluster.JobID(name), Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}, Source: "tasks"}}
	}
	for i, commands := range [][]cluster.Command{
		{cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1", Labels: []cluster.Label{{Key: "zone", Value: "x"}}, Address: "127.0.0.1:7600", Version: "1"}},
		{
			job("runs", cluster.TaskSpec{}), job("parks", cluster.TaskSpec{MaxAttempts: 1}),
			job("waits", cluster.TaskSpec{Selector: []cluster.Label{{Key: "gpu", Value: "yes"}}}), job("rota.source.tasks", cluster.TaskSpec{}),
		},
		{cluster.FinishPartition{Partition: "parks", Token: 2, Outcome: cluster.OutcomeFailed, Message: "connection refused"}},
		{cluster.PrepareJoin{Member: "b", Heartbeat: "pulse/b/1"}},
		{cluster.AcceptJoin{Member: "b", Incarnation: 4, By: "a", ByIncarnation: 1}},
		{cluster.DrainMember{Member: "a", On: true}},
	} {
		e := cluster.Entry{Index: cluster.Index(i + 1), Writer: "w", Seq: uint64(i + 1), AtMS: int64(1000 * (i + 1)), Commands: commands}
		next, done := v.Apply(e)
		for j, r := range done.Results {
			if !r.Accepted {
				t.Fatalf("entry %d, command %d: %s", e.Index, j, r.Reason)
			}
		}
		v = next
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
		Value: func() cluster.Value { return v }, Store: "file:data", Protocol: "replica",
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
	b, err := io.ReadAll(r.Body)
	must.Succeed(t, err)
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
			b, err := json.MarshalIndent(v, "", "  ")
			must.Succeed(t, err)
			text = digest.ReplaceAllString(string(b), `"digest": "…"`) + "\n"
		}
		return res.Status + "\n" + text
	})
}

func TestTokenAndHostAreChecked(t *testing.T) {
	t.Parallel()
	open, closed := config(t), config(t)
	closed.Token = "s3cret"
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token); r.Host = "rota.example.org" }
	}
	for name, c := range map[string]struct {
		config api.Config
		path   string
		change func(*http.Request)
		want   int
	}{
		"by a name that is not ours": {open, "/v1/status", func(r *http.Request) { r.Host = "evil.example.org" }, http.StatusMisdirectedRequest},
		"by localhost":               {open, "/v1/tasks", func(r *http.Request) { r.Host = "localhost:7600" }, http.StatusOK},
		"by IPv6":                    {open, "/v1/tasks", func(r *http.Request) { r.Host = "[::1]:7600" }, http.StatusOK},
		"without token":              {closed, "/v1/tasks", nil, http.StatusUnauthorized},
		"with another token":         {closed, "/v1/tasks", bearer("s3cre"), http.StatusUnauthorized},
		"with the token":             {closed, "/v1/tasks", bearer("s3cret"), http.StatusOK},
		"metrics without token":      {closed, "/metrics", nil, http.StatusUnauthorized},
		"alive without token":        {closed, "/healthz", nil, http.StatusOK},
	} {
		if got := request(c.config, "GET", c.path, c.change).StatusCode; got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestAJournalThatFailsIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Journal = records{err: errors.New("the store is away")}
	for _, path := range []string{"/v1/status", "/v1/journal", "/v1/why?task=runs"} {
		if got := request(c, "GET", path, nil); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: got %s", path, got.Status)
		}
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer busy.Close()
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
		{busy.Addr().String(), api.Access{}, false},
		{"127.0.0.1", api.Access{}, false},
		{"127.0.0.1:http", api.Access{}, false},
		{"127.0.0.1:70000", api.Access{}, false},
	} {
		l, err := api.Listen(c.address, c.access)
		if (err == nil) != c.ok {
			t.Errorf("%s: got %v", c.address, err)
		}
		if err == nil {
			l.Close()
		}
	}
}

func TestListenLooksForAFreePort(t *testing.T) {
	t.Parallel()
	first, err := api.Listen("", api.Access{})
	must.Succeed(t, err)
	defer first.Close()
	second, err := api.Listen("", api.Access{})
	must.Succeed(t, err)
	defer second.Close()
	a, b := first.Addr().(*net.TCPAddr).Port, second.Addr().(*net.TCPAddr).Port
	if a == b || a < 7600 || b > api.LastPort {
		t.Errorf("got ports %d and %d", a, b)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l, err := api.Listen("127.0.0.1:0", api.Access{})
	must.Succeed(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- api.Serve(ctx, l, config(t)) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + l.Addr().String() + "/v1/members")
	must.Succeed(t, err)
	if got := body(t, res); !strings.Contains(got, `"member":"a"`) {
		t.Errorf("got %s", got)
	}
	res.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestServeTellsWhyItEnded(t *testing.T) {
	t.Parallel()
	l, err := api.Listen("127.0.0.1:0", api.Access{})
	must.Succeed(t, err)
	l.Close()
	if err := api.Serve(t.Context(), l, config(t)); err == nil {
		t.Error("serving on a closed listener is no error")
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var v cluster.Value
	var commands []cluster.Command
	for i := range api.MaxProblems + 7 {
		commands = append(commands, cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("j%03d", i)), Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Definition: []byte("{}")}}}})
	}
	v, _ = v.Apply(cluster.Entry{Index: 1, Writer: "w", Seq: 1, Commands: commands})
	s := api.StatusOf(v)
	if len(s.Problems) != api.MaxProblems || s.More != 7 || s.Tasks.Waiting != api.MaxProblems+7 {
		t.Errorf("got %d problems and %d more, %d waiting", len(s.Problems), s.More, s.Tasks.Waiting)
	}
	s.AddMalformed(cluster.Value{}, []journal.Record{{Kind: journal.Malformed, Partition: "x"}})
	if s.More != 8 {
		t.Errorf("a malformed file that does not fit is not counted: %d", s.More)
	}
}

func TestMalformedUntilMended(t *testing.T) {
	t.Parallel()
	var s api.Status
	s.AddMalformed(cluster.Value{}, []journal.Record{
		{Kind: journal.Malformed, Partition: "mended", Message: "bad"},
		{Kind: journal.Malformed, Partition: "broken", Message: "bad"},
		{Kind: journal.Recovered, Partition: "mended"},
		{Kind: journal.Recovered, Partition: "again"},
		{Kind: journal.Malformed, Partition: "again", Message: "bad"},
	})
	var got []string
	for _, p := range s.Problems {
		got = append(got, p.Task)
	}
	if fmt.Sprint(got) != "[broken again]" {
		t.Errorf("got %v", got)
	}
}

func TestEntryTellsWhatDidNothing(t *testing.T) {
	t.Parallel()
	e := api.EntryOf(cluster.Value{}, protocol.Applied{
		Entry:   cluster.Entry{Index: 7, Writer: "w", Commands: []cluster.Command{cluster.KillJob{Job: "x"}}},
		Results: []cluster.Result{{Reason: "no such job"}},
	})
	if len(e.Commands) != 1 || e.Commands[0].Accepted || e.Commands[0].Reason != "no such job" || !strings.Contains(e.Commands[0].Said, "x") {
		t.Errorf("got %+v", e)
	}
}

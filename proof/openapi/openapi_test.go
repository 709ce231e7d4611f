package openapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// value has a member, a task of a folder, two jobs and a flow.
func value(t *testing.T) (v cluster.Value, log []step) {
	t.Helper()
	for _, c := range []cluster.Command{
		cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a", Slots: 2},
		cluster.SubmitJob{Job: "check",
			Spec: cluster.JobSpec{Source: "tasks", Tasks: []cluster.TaskSpec{{Type: "noop", MaxAttempts: 1}}}},
		cluster.SubmitJob{Job: "etl", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Name: "read", Type: "noop"},
			{Name: "load", Type: "noop"}}}},
		cluster.SubmitJob{Job: "later", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}},
		cluster.SubmitJob{Job: "words", Spec: flows.Spec("noop")},
		cluster.PrepareJoin{Member: "b", Heartbeat: "pulse/b"},
		cluster.AcceptJoin{Member: "b", Incarnation: 6, By: "a", ByIncarnation: 1},
		cluster.LeaveCluster{Member: "b", Incarnation: 6, Hold: true},
	} {
		e := values.Entry(v, 1000, c)
		v = values.Apply(t, v, e)
		log = append(log, step{e, v})
	}
	return v, log
}

var errAway = errors.New("the store is away")

// away fails when it is told to.
type away struct {
	store.Docs
	store.Queue
	journal.Journal
	log  []step
	down atomic.Bool
}

func (a *away) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if a.down.Load() {
		return nil, errAway
	}
	return a.Docs.List(ctx, prefix)
}

func (a *away) Read(ctx context.Context, q journal.Query) ([]journal.Record, error) {
	if a.down.Load() {
		return nil, errAway
	}
	return a.Journal.Read(ctx, q)
}

// Oldest and History are those of a log with the entries of value.
func (a *away) Oldest(context.Context, protocol.Store) (cluster.Value, error) {
	if a.down.Load() {
		return cluster.Value{}, errAway
	}
	return cluster.Value{}, nil
}

func (a *away) History(_ context.Context, _ protocol.Store, after cluster.Index,
	yield func(cluster.Value, protocol.Applied) bool) error {
	if a.down.Load() {
		return errAway
	}
	for _, x := range a.log {
		if x.Index > after && !yield(x.v, protocol.Applied{Entry: x.Entry}) {
			return nil
		}
	}
	return nil
}

// step is an entry and the value after it.
type step struct {
	cluster.Entry
	v cluster.Value
}

// world is a served API, and what has been answered.
type world struct {
	t      *testing.T
	store  *away
	config api.Config
	gate   chan struct{} // while not nil, requests for the value wait for it
	mu     sync.Mutex
	even   atomic.Bool  // there is nothing to rebalance
	asked  atomic.Int64 // requests that wait
	open   int64        // streams of events: they look at the value too

	url      string
	doc      *openapi3.T
	methods  map[string]string // by path: each has one
	given    map[string]bool   // "path code"
	promised []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	docs := memory.New().Open()
	v, log := value(t)
	kept := journal.NewMemory(100)
	if err := kept.Append(t.Context(), journal.Record{AtMS: 1, Kind: journal.Moved, Partition: "check", To: "a"},
		journal.Record{AtMS: 2, Kind: journal.Moved, Partition: "check", To: "a"}); err != nil {
		t.Fatal(err)
	}
	flows.Open(t, v, "words", docs)
	client := must.Get(call.NewClient(docs, call.ClientOptions{}))(t)
	t.Cleanup(client.Close)
	if _, err := client.Submit(t.Context(), "ping", []byte(`"x"`), call.Options{}); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: &away{Docs: docs, Queue: docs, Journal: kept, log: log}, given: map[string]bool{}}
	w.config = api.Config{
		Past:  &view.Past{Historian: w.store, Store: nil},
		Value: func() cluster.Value { w.wait(); return v }, Journal: w.store,
		Lookout: view.NewLookout(w.store, protocol.Now), Store: "memory:", Protocol: "replica",
		Local: func() any { return nil }, Token: "secret", Actions: w.actions(v),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, "up 1")
		}),
		Ready: func() []string {
			if w.store.down.Load() {
				return []string{"the store is away"}
			}
			return nil
		},
	}
	w.url = w.serve(w.config)
	w.learn()
	return w
}

func (w *world) serve(c api.Config) string {
	s := httptest.NewServer(api.Handler(c))
	w.t.Cleanup(s.Close)
	w.t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s.URL
}

func (w *world) wait() {
	w.mu.Lock()
	gate := w.gate
	w.mu.Unlock()
	if gate != nil {
		w.asked.Add(1)
		<-gate
		w.asked.Add(-1)
	}
}

// learn reads the description, checks it as such, and notes what it promises.
func (w *world) learn() {
	w.t.Helper()
	r := w.ask(w.url, "/v1/openapi.json", nil)
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		w.t.Fatalf("%d %v", r.StatusCode, err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(b)
	if err == nil {
		err = doc.Validate(w.t.Context())
	}
	if err != nil {
		w.t.Fatalf("the description is no OpenAPI: %v: %s", err, b)
	}
	w.doc, w.methods = doc, map[string]string{}
	for path, item := range doc.Paths.Map() { // order-free: each by itself
		for method, op := range item.Operations() { // order-free: there is one
			w.methods[path] = method
			for code := range op.Responses.Map() { // order-free: a set
				w.promised = append(w.promised, path+" "+code)
			}
		}
	}
	w.check(r.Request, r, b)
}

func (w *world) ask(url, path string, change func(*http.Request)) *http.Response {
	w.t.Helper()
	only, _, _ := strings.Cut(path, "?")
	method, body := cmp.Or(w.methods[only], http.MethodGet), ""
	if only == "/v1/submit" {
		body = "id: new"
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/yaml")
	}
	r.Header.Set("Authorization", "Bearer secret")
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// get asks, and checks the answer against the description.
func (w *world) get(path string, want int, change func(*http.Request)) {
	w.t.Helper()
	w.getFrom(w.url, path, want, change)
}

func (w *world) getFrom(url, path string, want int, change func(*http.Request)) {
	w.t.Helper()
	r := w.ask(url, path, change)
	var b []byte
	if r.Header.Get("Content-Type") == "text/event-stream" && r.Request.URL.Path == "/v1/events" {
		w.open++
	}
	if r.Header.Get("Content-Type") != "text/event-stream" { // that does not end
		var err error
		if b, err = io.ReadAll(r.Body); err != nil {
			w.t.Fatal(err)
		}
	}
	if r.StatusCode != want {
		w.t.Errorf("%s: %d, want %d: %s", path, r.StatusCode, want, b)
	}
	w.check(r.Request, r, b)
}

func (w *world) check(q *http.Request, r *http.Response, body []byte) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	path, _, _ := strings.Cut(q.URL.Path, "?")
	w.given[fmt.Sprintf("%s %d", path, r.StatusCode)] = true
	if r.Header.Get("Content-Type") == "text/event-stream" {
		return
	}
	item := w.doc.Paths.Value(path)
	if item == nil || item.GetOperation(q.Method) == nil {
		w.t.Errorf("%s %s is answered, and not described", q.Method, path)
		return
	}
	route := &routers.Route{Spec: w.doc, Path: path, PathItem: item, Method: q.Method,
		Operation: item.GetOperation(q.Method)}
	in := &openapi3filter.ResponseValidationInput{Status: r.StatusCode, Header: r.Header,
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: q, Route: route}}
	if err := openapi3filter.ValidateResponse(q.Context(), in.SetBodyBytes(body)); err != nil {
		w.t.Errorf("%s: %d %s is not as described: %v", q.URL, r.StatusCode, body, err)
	}
}

// needs are the parameters that a path needs.
var needs = map[string]string{ // read-only: a table
	"/v1/job": "?job=etl", "/v1/why": "?task=check", "/v1/plan": "?without=a", "/v1/kill": "?job=etl",
	"/v1/pause": "?job=etl", "/v1/resume": "?job=etl",
	"/v1/drain": "?member=a", "/v1/undrain": "?member=a", "/v1/evict": "?member=b", "/v1/unpark": "?task=check",
	"/v1/run-now":    "?task=check",
	"/v1/retry-dead": "?job=words", "/v1/drop-dead": "?job=words",
	"/v1/configure": "?retention=5", "/v1/history/diff": "?from=1&to=2",
}

// asked is a cluster that accepts all but what is about "none"; while the store is down it does not know.
type asked struct {
	*world
	v *cluster.Value
}

func (a asked) Value(context.Context) (cluster.Value, error) {
	a.wait()
	if a.store.down.Load() {
		return cluster.Value{}, errAway
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return *a.v, nil
}

func (a asked) Changed() <-chan struct{} { return nil }

func (a asked) Record(context.Context, ...journal.Record) error { return nil }

func (a asked) Propose(_ context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	a.wait()
	if a.store.down.Load() {
		return nil, errAway
	}
	if c := commands[0]; c == (cluster.Rebalance{}) && a.even.Load() || c == (cluster.Configure{MoveBudget: 404}) ||
		strings.HasSuffix(fmt.Sprint(c), " none") || strings.Contains(fmt.Sprint(c), " none ") {
		return []cluster.Result{{Reason: "there is none"}}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := commands[0].(cluster.SubmitJob); ok {
		*a.v, _ = a.v.Do(a.v.Index()+1, 1000, c)
	}
	return []cluster.Result{{Accepted: true}}, nil
}

func (w *world) actions(v cluster.Value) *api.Actions {
	return &api.Actions{
		Operator: operate.New(asked{w, &v}, w.store, w.store, work.Types{"noop": {Name: "noop", Periodic: true}},
			"API"),
		Job: func(definition []byte) (cluster.JobID, cluster.JobSpec, error) {
			if len(definition) > 100 {
				return "", cluster.JobSpec{}, errors.New("not a definition")
			}
			return "new", cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}, nil
		},
	}
}

// TestTheDescriptionHolds provokes each answer that is promised, and finds none that is not.
func TestTheDescriptionHolds(t *testing.T) {
	w := newWorld(t)
	var paths []string
	for _, p := range w.promised {
		path, _, _ := strings.Cut(p, " ")
		paths = append(paths, path)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) < 12 {
		t.Fatalf("only %v", paths)
	}
	open := api.Config{Value: w.config.Value, Actions: w.config.Actions}
	tokenless := w.serve(open)
	for _, path := range paths {
		full := path + needs[path]
		w.get(full, http.StatusOK, nil)
		w.get(full, http.StatusUnauthorized, func(r *http.Request) { r.Header.Del("Authorization") })
		w.get(full, http.StatusForbidden, func(r *http.Request) { r.Header.Set("Origin", "https://example.com") })
		if strings.HasPrefix(path, "/v1/") {
			w.get(path+"?nonsense=1", http.StatusBadRequest, nil)
		}
		if path != "/metrics" {
			w.getFrom(tokenless, full, http.StatusMisdirectedRequest,
				func(r *http.Request) { r.Host = "rota.example.com" })
		}
	}
	w.getFrom(w.serve(api.Config{Value: w.config.Value, Metrics: w.config.Metrics}), "/metrics",
		http.StatusMisdirectedRequest, func(r *http.Request) { r.Host = "rota.example.com" })

	for _, path := range []string{"/v1/members?limit=x", "/v1/tasks?limit=0", "/v1/jobs?limit=99999",
		"/v1/journal?since=soon", "/v1/plan", "/v1/job", "/v1/why", "/v1/history?index=x", "/v1/history/diff",
		"/v1/log?after=x", "/v1/calls?state=bad"} {
		w.get(path, http.StatusBadRequest, nil)
	}
	w.get("/v1/journal/events", http.StatusBadRequest,
		func(r *http.Request) { r.Header.Set("Last-Event-ID", "yesterday") })
	for path, method := range w.methods { // order-free: each by itself
		if method == http.MethodPost {
			w.posts(path, tokenless)
		}
	}
	for _, path := range []string{"/v1/history?index=99", "/v1/history/diff?from=1&to=99", "/v1/job?job=none",
		"/v1/why?task=none", "/v1/plan?without=none"} {
		w.get(path, http.StatusNotFound, nil)
	}
	w.getFrom(tokenless, "/v1/log", http.StatusNotFound, nil)
	w.get("/v1/history?index=2", http.StatusOK, nil)
	w.get("/v1/log?after=0&limit=1", http.StatusOK, nil)
	w.get("/v1/tasks?limit=1&state=running&owner=a", http.StatusOK, nil)
	w.get("/v1/jobs?all=true&limit=1", http.StatusOK, nil)

	w.store.down.Store(true)
	for _, path := range []string{"/v1/status", "/v1/members", "/v1/tasks", "/v1/why?task=check", "/v1/journal",
		"/v1/journal/events", "/v1/history", "/v1/history/diff?from=1&to=2", "/v1/log", "/v1/calls", "/readyz"} {
		w.get(path, http.StatusServiceUnavailable, nil)
	}
	w.store.down.Store(false)
	w.crowd("/v1/jobs", 4)
	w.crowd("/v1/job?job=etl", 4)
	w.crowd("/v1/plan?without=a", 4)
	for range 100 {
		w.ask(w.url, "/v1/events", nil)
	}
	w.get("/v1/events", http.StatusServiceUnavailable, nil)

	for _, p := range w.promised {
		if !w.given[p] {
			t.Errorf("%s is promised and was never given", p)
		}
	}
	for p := range w.given { // order-free: each by itself
		if !slices.Contains(w.promised, p) {
			t.Errorf("%s was given and is not promised", p)
		}
	}
	t.Logf("%d answers of %d paths", len(w.promised), len(paths))
}

// posts provokes the answers of a path that changes the cluster.
func (w *world) posts(path, tokenless string) {
	full := path + strings.NewReplacer("=etl", "=none", "=words", "=none", "=a", "=none", "=b",
		"=none").Replace(needs[path])
	if path == "/v1/unpark" || path == "/v1/run-now" {
		full = path + "?task=none"
	}
	if path == "/v1/configure" {
		full = path + "?move_budget=404"
	}
	wrong := path
	if path == "/v1/rebalance" {
		wrong = path + "?color=red"
		w.even.Store(true)
	}
	if path == "/v1/submit" {
		full = path + "?job=none"
		w.get(path, http.StatusBadRequest, send(101))
		w.get(path, http.StatusRequestEntityTooLarge, send(1<<20+1))
	} else {
		w.get(wrong, http.StatusBadRequest, nil)
	}
	w.get(full, http.StatusConflict, nil)
	w.store.down.Store(true)
	w.get(path+needs[path], http.StatusServiceUnavailable, nil)
	w.store.down.Store(false)
	w.getFrom(tokenless, path+needs[path], http.StatusForbidden, nil)
}

// send makes a request's body a text of n bytes.
func send(n int) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", n))), int64(n)
	}
}

// crowd sends so many requests at once that no other one of their kind is answered.
func (w *world) crowd(path string, n int64) {
	w.t.Helper()
	gate := make(chan struct{})
	w.mu.Lock()
	w.gate = gate
	w.mu.Unlock()
	var all sync.WaitGroup
	for range n {
		all.Go(func() { w.ask(w.url, path, nil) })
	}
	processtest.Await(w.t, fmt.Sprintf("%d requests for %s wait", n, path),
		func() bool { return w.asked.Load() == n+w.open })
	w.get(path, http.StatusServiceUnavailable, nil)
	w.mu.Lock()
	w.gate = nil
	w.mu.Unlock()
	close(gate)
	all.Wait()
}

package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
)

// operation is one path of the API, as it is answered and as it is described.
type operation struct {
	method  string // GET unless said
	path    string
	summary string
	params  []parameter
	answer  any    // a value of the type of the answer, or of one element of a list
	shape   shape  // of the answer
	media   string // of an answer that is no JSON
	body    string // media type of the request's body
	codes   map[int]string
	handle  http.HandlerFunc
}

func (op *operation) verb() string { return cmp.Or(op.method, http.MethodGet) }

// shape is how the answer holds its type.
type shape int

const (
	one    shape = iota // as it is
	listed              // a page of many, with a header Link to the next one
	raw                 // text
)

// parameter is one of the query.
type parameter struct {
	name, summary string
	kind          string // of JSON schema: string, integer, boolean
	required      bool
	many          bool
	values        []string // the only ones; nil for any
}

// checked refuses a request of which a parameter is missing or would do nothing: a typing error would else pass for an
// answer.
func (op *operation) checked() http.HandlerFunc {
	if !strings.HasPrefix(op.path, "/v1/") { // programs of others add their own to the paths for probes and metrics
		return op.handle
	}
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			fail(w, http.StatusBadRequest, "the query is not NAME=VALUE&NAME=VALUE")
			return
		}
		if why := op.refusal(query); why != "" {
			fail(w, http.StatusBadRequest, why)
			return
		}
		op.handle(w, r)
	}
}

// unserved answers what no operation does.
func unserved(ops []operation, w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(ops, func(op operation) bool { return op.path == r.URL.Path })
	if i < 0 {
		fail(w, http.StatusNotFound, "there is no "+r.URL.Path+"; try: GET /v1/openapi.json")
		return
	}
	verb := ops[i].verb()
	w.Header().Set("Allow", strings.Replace(verb, http.MethodGet, "GET, HEAD", 1))
	fail(w, http.StatusMethodNotAllowed, r.URL.Path+" takes "+verb+", not "+r.Method)
}

// refusal says what is wrong with a query; "" if nothing is.
func (op *operation) refusal(query url.Values) string {
	for _, p := range op.params {
		if p.required && query.Get(p.name) == "" {
			return fmt.Sprintf("%s is missing: %s", p.name, p.summary)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		i := slices.IndexFunc(op.params, func(p parameter) bool { return p.name == name })
		if i < 0 {
			return op.unknown(name)
		}
		if len(query[name]) > 1 && !op.params[i].many {
			return name + " is given more than once"
		}
		for _, value := range query[name] {
			if why := op.params[i].refusal(value); why != "" {
				return why
			}
		}
	}
	return ""
}

// refusal says what is wrong with a value of a parameter; "" if nothing is.
func (p *parameter) refusal(value string) string {
	switch {
	case value != "" && p.values != nil && !slices.Contains(p.values, strings.ReplaceAll(value, " ", "-")):
		return fmt.Sprintf("%s=%q is none of %s", p.name, value, strings.Join(p.values, ", "))
	case value != "" && p.kind == "boolean" && value != "true" && value != "false":
		return fmt.Sprintf("%s=%q is neither true nor false", p.name, value)
	}
	return ""
}

func (op *operation) unknown(name string) string {
	names := make([]string, len(op.params))
	for i, p := range op.params {
		names[i] = p.name
	}
	if len(names) == 0 {
		return fmt.Sprintf("unknown parameter %q: %s takes none", name, op.path)
	}
	return fmt.Sprintf("unknown parameter %q: %s takes %s", name, op.path, strings.Join(names, ", "))
}

var paged = []parameter{ // read-only: a table
	{name: "limit", summary: "how many at most, from 1 to 10000; 1000 unless said", kind: "integer"},
	{name: "after", summary: "the last one of the page before; take it from the header Link", kind: "string"},
}

// recorded says which records of the journal are wanted.
var recorded = []parameter{ // read-only: a table
	{name: "task", summary: "only those about this task, or about the tasks of this job", kind: "string"},
	{name: "kind", summary: "only those of this kind", kind: "string", many: true, values: kindNames()},
}

func kindNames() (names []string) {
	for _, k := range journal.Kinds() {
		names = append(names, string(k))
	}
	return names
}

// operations are all paths but those of the page.
func (h *handler) operations() []operation {
	sums, lists := newRoom(maxHeavy), newRoom(maxHeavy)
	unavailable := map[int]string{http.StatusServiceUnavailable: "the store does not answer, or there are too many requests of this kind at a time"}
	missing := func(what string) map[int]string {
		return map[int]string{http.StatusNotFound: "there is no such " + what,
			http.StatusServiceUnavailable: unavailable[http.StatusServiceUnavailable]}
	}
	ops := []operation{
		{path: "/v1/status", summary: "Sums, problems, moves of the last hour", answer: view.Status{},
			codes: unavailable, handle: sums.bound(h.status)},
		{path: "/v1/members", summary: "The members, sorted by name", params: paged, answer: view.Member{},
			shape: listed, codes: unavailable, handle: h.members},
		{path: "/v1/tasks", summary: "The partitions of all tasks, sorted by name", shape: listed, answer: view.Task{},
			codes: unavailable, handle: h.tasks, params: append([]parameter{
				{name: "state", summary: "only those in this state", kind: "string", values: view.TaskStates()},
				{name: "owner", summary: "only those of this member", kind: "string"},
				{name: "own", summary: "also those of Rota itself", kind: "boolean"},
			}, paged...)},
		{path: "/v1/jobs", summary: "The jobs that clients submitted, sorted by name", shape: listed,
			answer: view.Job{}, codes: unavailable, handle: lists.bound(h.jobs), params: append([]parameter{
				{name: "all", summary: "also those that sources define", kind: "boolean"},
			}, paged...)},
		{path: "/v1/job", summary: "One job", answer: view.Job{}, codes: missing("job"), handle: sums.bound(h.job),
			params: []parameter{
				{name: "job", summary: "its name", kind: "string", required: true},
			}},
		{path: "/v1/calls", summary: "The calls of functions that the store has, sorted by name, without arguments and results", shape: listed, answer: view.Call{}, codes: unavailable, handle: lists.bound(h.calls), params: append([]parameter{
			{name: "state", summary: "only those in this state", kind: "string", values: view.CallStates()},
		}, paged...)},
		{path: "/v1/why", summary: "Why a task runs where it runs, or does not", answer: view.Why{},
			codes: missing("task"), handle: sums.bound(h.why), params: []parameter{
				{name: "task", summary: "its name: job, job/task, job#key or job/task#key", kind: "string",
					required: true},
			}},
		{path: "/v1/plan", summary: "What would move and wait without members", answer: view.Plan{},
			codes: missing("member"), handle: lists.bound(h.plan), params: []parameter{
				{name: "without", summary: "a member that would go", kind: "string", required: true, many: true},
			}},
		{path: "/v1/journal", summary: "The newest records of the journal, oldest first", shape: listed,
			answer: journal.Record{}, codes: unavailable, handle: lists.bound(h.journal),
			params: slices.Concat(recorded, []parameter{
				{name: "since", summary: "not older than this duration, such as 1h", kind: "string"},
				{name: "until", summary: "only what is older than this duration", kind: "string"},
			}, paged)},
		{path: "/v1/events", summary: "What changes, as server-sent events: begin and reset with a Beginning, changed with a Changed, ready with a Beginning", shape: raw, media: "text/event-stream", codes: unavailable, handle: newRoom(maxStreams).bound(h.events)},
		{path: "/v1/journal/events",
			summary: "Records of the journal as they come, as server-sent events: record, with a Record", shape: raw,
			media: "text/event-stream", codes: unavailable, handle: newRoom(maxTails).bound(h.tail), params: recorded},
		{path: "/v1/openapi.json", summary: "This description", shape: raw, media: "application/json",
			handle: h.describe},
		{path: "/readyz", summary: "Whether the member can do its work", answer: Readiness{},
			codes: map[int]string{http.StatusServiceUnavailable: "it cannot, for these reasons"}, handle: h.ready},
	}
	ops = append(ops, h.pastOperations(newRoom(maxReplays))...)
	if h.c.Metrics != nil {
		ops = append(ops, operation{path: "/metrics", summary: "Metrics for Prometheus", shape: raw,
			media: "text/plain", handle: h.c.Metrics.ServeHTTP})
	}
	return append(ops, h.actions()...)
}

package api

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

// Config is what a server shows. Value is required. Its functions may be called from any goroutine.
type Config struct {
	Value    func() cluster.Value
	Journal  journal.Journal // default: none
	Lookout  *Lookout        // sees who is alive and what fails; default: none, and then the value alone is shown
	Store    string          // for people, without secrets
	Protocol string          // its name, for people
	Local    func() any      // what only this process knows; default: nothing
	Ready    func() []string // why the member cannot do its work; empty when it can
	Metrics  http.Handler    // default: none
	Token    string          // required of every request but /healthz when not ""
	Logger   *slog.Logger    // default: discard
}

// The bounds of a request. Nothing here reads a body.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 16 << 10
	maxLimit       = 10_000 // records or tasks per answer
)

// Serve answers requests on l until ctx ends. It returns when all handlers have ended.
func Serve(ctx context.Context, l net.Listener, c Config) error {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &http.Server{
		Handler: Handler(c), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if s.Shutdown(limit) != nil {
			s.Close()
		}
	})
	err := s.Serve(l)
	if stop() {
		return fmt.Errorf("serve the API: %w", err)
	}
	<-stopped
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API: %w", err)
	}
	return nil
}

// Handler answers the API's paths, all of them with GET or HEAD.
func Handler(c Config) http.Handler {
	h := &handler{c: c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", h.status)
	mux.HandleFunc("GET /v1/members", h.members)
	mux.HandleFunc("GET /v1/tasks", h.tasks)
	mux.HandleFunc("GET /v1/why", h.why)
	mux.HandleFunc("GET /v1/jobs", h.jobs)
	mux.HandleFunc("GET /v1/job", h.job)
	mux.HandleFunc("GET /v1/plan", h.plan)
	mux.HandleFunc("GET /v1/journal", h.journal)
	mux.HandleFunc("GET /readyz", h.ready)
	if c.Metrics != nil {
		mux.Handle("GET /metrics", c.Metrics)
	}
	guarded := h.guard(mux)
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	open.Handle("/", guarded)
	return open
}

type handler struct{ c Config }

// guard asks for the token, bounds the body, and refuses what a page in a browser on this machine could be made to send: a request by a
// name that is not ours.
func (h *handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if h.c.Token == "" && !loopback(hostOf(r.Host)) {
			fail(w, http.StatusMisdirectedRequest, "this server answers on loopback only: ask it by 127.0.0.1, [::1] or localhost")
			return
		}
		if !h.allowed(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "the request carries no valid token")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1)
		next.ServeHTTP(w, r)
	})
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func (h *handler) allowed(r *http.Request) bool {
	if h.c.Token == "" {
		return true
	}
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(got), []byte(h.c.Token)) == 1
}

func (h *handler) status(w http.ResponseWriter, r *http.Request) {
	v := h.c.Value()
	sight, err := h.look(r, v)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	s := StatusOf(v)
	sight.Status(v, &s)
	s.Store, s.Protocol = h.c.Store, h.c.Protocol
	if h.c.Local != nil {
		s.Local = h.c.Local()
	}
	if h.c.Journal != nil {
		records, err := h.c.Journal.Read(r.Context(), journal.Query{Since: time.Now().Add(-time.Hour), Limit: maxLimit})
		if err != nil {
			fail(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		s.Moves = MovesOf(records)
	}
	answer(w, s)
}

// look is the zero Sight where there is no lookout.
func (h *handler) look(r *http.Request, v cluster.Value) (Sight, error) {
	if h.c.Lookout == nil {
		return Sight{}, nil
	}
	return h.c.Lookout.Look(r.Context(), v)
}

func (h *handler) members(w http.ResponseWriter, r *http.Request) {
	v := h.c.Value()
	sight, err := h.look(r, v)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	members := MembersOf(v)
	sight.Members(members)
	answer(w, members)
}

func (h *handler) tasks(w http.ResponseWriter, r *http.Request) {
	q, v := r.URL.Query(), h.c.Value()
	sight, err := h.look(r, v)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	tasks := TasksOf(v, q.Get("own") == "true")
	sight.Tasks(tasks)
	answer(w, Filter(tasks, q.Get("state"), q.Get("owner")))
}

// Filter keeps tasks in a state and of an owner; "" for any. A state of two words may be written with a hyphen: backing-off.
func Filter(tasks []Task, state, owner string) []Task {
	out := []Task{}
	state = strings.ReplaceAll(state, "-", " ")
	for _, t := range tasks {
		if (state == "" || t.State == state) && (owner == "" || t.Owner == owner) {
			out = append(out, t)
		}
	}
	return out
}

func (h *handler) why(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("task")
	records, err := h.read(r, journal.Query{Partition: id, Limit: 100})
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	v := h.c.Value()
	sight, err := h.look(r, v)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	why, ok := WhyOf(v, sight, cluster.PartitionID(id), records)
	if !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no task %q", id))
		return
	}
	answer(w, why)
}

// jobs shows the jobs that clients submitted; with all=true also those that sources define.
func (h *handler) jobs(w http.ResponseWriter, r *http.Request) {
	all := r.URL.Query().Get("all") == "true"
	answer(w, JobsOf(h.c.Value(), func(j cluster.Job) bool { return all || j.Spec.Source == "" }))
}

func (h *handler) job(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("job")
	job, ok := JobOf(h.c.Value(), cluster.JobID(id))
	if !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no job %q", id))
		return
	}
	answer(w, job)
}

func (h *handler) plan(w http.ResponseWriter, r *http.Request) {
	var without []cluster.MemberID
	for _, m := range r.URL.Query()["without"] {
		without = append(without, cluster.MemberID(m))
	}
	if len(without) == 0 {
		fail(w, http.StatusBadRequest, "say which member would go: ?without=MEMBER")
		return
	}
	plan, err := PlanWithout(h.c.Value(), without)
	if err != nil {
		fail(w, http.StatusNotFound, err.Error())
		return
	}
	answer(w, plan)
}

func (h *handler) read(r *http.Request, q journal.Query) ([]journal.Record, error) {
	if h.c.Journal == nil {
		return []journal.Record{}, nil
	}
	records, err := h.c.Journal.Read(r.Context(), q)
	if records == nil {
		records = []journal.Record{}
	}
	return records, err
}

func (h *handler) journal(w http.ResponseWriter, r *http.Request) {
	q, err := journalQuery(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	records, err := h.read(r, q)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answer(w, records)
}

func journalQuery(r *http.Request) (journal.Query, error) {
	v := r.URL.Query()
	q := journal.Query{Partition: v.Get("task")}
	if s := v.Get("since"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return q, fmt.Errorf("since=%q is not a duration such as 1h", s)
		}
		q.Since = time.Now().Add(-d)
	}
	if s := v.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxLimit {
			return q, fmt.Errorf("limit=%q is not a number from 1 to %d", s, maxLimit)
		}
		q.Limit = n
	}
	return q, nil
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why not
}

func (h *handler) ready(w http.ResponseWriter, _ *http.Request) {
	r := Readiness{Reasons: []string{}}
	if h.c.Ready != nil {
		r.Reasons = append(r.Reasons, h.c.Ready()...)
	}
	r.Ready = len(r.Reasons) == 0
	code := http.StatusOK
	if !r.Ready {
		code = http.StatusServiceUnavailable
	}
	write(w, code, r)
}

// Fault is the body of an answer that is an error.
type Fault struct {
	Error string `json:"error"`
}

func fail(w http.ResponseWriter, code int, message string) { write(w, code, Fault{message}) }

func answer(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

func write(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n')) // the client may have gone; nobody is left to tell
}

func text(w http.ResponseWriter, code int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(s))
}

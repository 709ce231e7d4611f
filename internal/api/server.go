package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api/page"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// Config is what a server shows. Value is required. Its functions may be called from any goroutine.
type Config struct {
	Value    func() cluster.Value
	Journal  journal.Journal // default: none
	Lookout  *view.Lookout   // sees who is alive and what fails; default: none, and then the value alone is shown
	Past     *view.Past      // reads the log; default: none, and then there is no history
	Queue    store.Queue     // holds the segments of flows; without it, flows are not shown
	Store    string          // for people, without secrets
	Member   string          // who answers
	Place    string          // what a prober compares, so that it does not take another cluster's member for its own; default: Store
	Protocol string          // its name, for people
	Local    func() any      // what only this process knows; default: nothing
	Ready    func() []string // why the member cannot do its work; empty when it can
	Metrics  http.Handler    // default: none
	Token    string          // if it or Users is not empty, every request except /healthz must have one; it operates, without a name
	Users    Users           // who has a token of their own, with a role
	Actions  *Actions        // default: none, and then it only shows
	Logger   *slog.Logger    // default: discard
	// Connections is how many connections a server holds at most; default: 128, and never more than a quarter of the
	// process's file descriptors.
	Connections int

	done <-chan struct{} // ends streams
}

// The bounds of a request. Only a submission has a body: see maxDefinition.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 16 << 10
)

// Serve answers requests on l until ctx ends. It returns when all handlers have ended. It holds at most
// [Config.Connections] connections: one more waits, and while all are in use none is kept for a further request.
func Serve(ctx context.Context, l net.Listener, c Config) error {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.done = ctx.Done()
	s := &http.Server{
		Handler: Handler(c), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	l = limit(l, s, connections(c.Connections, maxFiles()))
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

// Handler answers the API's paths and those of the page: GET and HEAD show, POST changes the cluster where there are
// [Actions]. The page itself shows nothing of the cluster: it asks for the token and reads the API with it.
func Handler(c Config) http.Handler {
	h := &handler{c: c, turns: make(chan struct{}, maxTurns)}
	mux := http.NewServeMux()
	ops := h.operations()
	for _, op := range ops {
		mux.HandleFunc(op.verb()+" "+op.path, op.checked())
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) { unserved(ops, w, r) })
	guarded := h.guard(mux)
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", h.alive)
	open.Handle("GET /{$}", h.ours(page.Handler()))
	open.Handle("GET /page/", h.ours(page.Handler()))
	open.Handle("/", guarded)
	return open
}

type handler struct {
	c     Config
	turns chan struct{} // see stream
	// recent are values that streams have shown last, so that one can go on where another ended.
	recent recent
	looks  looks
}

func (h *handler) status(w http.ResponseWriter, r *http.Request) {
	sight, ok := h.look(w, r)
	if !ok {
		return
	}
	s, err := h.viewer().Status(r.Context(), sight)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if h.c.Local != nil {
		s.Local = h.c.Local()
	}
	answer(w, s)
}

func (h *handler) viewer() view.Viewer {
	return view.Viewer{Lookout: h.c.Lookout, Journal: h.c.Journal, Queue: h.c.Queue, Store: h.c.Store,
		Protocol: h.c.Protocol}
}

// look looks at the cluster; where the store does not answer it says so and is false.
func (h *handler) look(w http.ResponseWriter, r *http.Request) (view.Sight, bool) {
	sight, err := h.viewer().Look(r.Context(), h.c.Value())
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
	}
	return sight, err == nil
}

func (h *handler) members(w http.ResponseWriter, r *http.Request) {
	if sight, ok := h.look(w, r); ok {
		list(h, w, r, sight.Value().Members(), func(m cluster.Member) string { return string(m.ID) }, sight.Member)
	}
}

func (h *handler) tasks(w http.ResponseWriter, r *http.Request) {
	sight, ok := h.look(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	f := view.Filter{Own: q.Get("own") == "true", State: q.Get("state"), Owner: q.Get("owner")}
	wanted := func(yield func(cluster.Partition) bool) {
		for p := range sight.Value().Partitions() {
			if sight.Shows(f, p) && !yield(p) {
				return
			}
		}
	}
	list(h, w, r, wanted, func(p cluster.Partition) string { return string(p.ID) }, sight.Task)
}

func (h *handler) why(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("task")
	records, err := h.read(r, journal.Query{Partition: id, Limit: 100})
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	sight, ok := h.look(w, r)
	if !ok {
		return
	}
	switch why, ok, err := h.viewer().Why(r.Context(), sight, cluster.PartitionID(id), records); {
	case err != nil:
		fail(w, http.StatusServiceUnavailable, err.Error())
	case !ok:
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no task %q", id))
	default:
		answer(w, why)
	}
}

// jobs shows the jobs that clients submitted; with all=true also those that sources define.
func (h *handler) jobs(w http.ResponseWriter, r *http.Request) {
	c, err := cursorOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	all, more := r.URL.Query().Get("all") == "true", false
	last, n := "", 0
	sight, ok := h.look(w, r)
	if !ok {
		return
	}
	jobs := sight.Jobs(func(j cluster.Job) bool {
		id := string(j.ID)
		switch {
		case !all && j.Spec.Source != "", id <= c.after:
			return false
		case n == c.limit:
			more = true
			return false
		}
		last, n = id, n+1
		return true
	})
	c.say(w, r, last, more)
	stream(h, w, r, slices.Values(jobs))
}

func (h *handler) job(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("job")
	sight, ok := h.look(w, r)
	if !ok {
		return
	}
	job, ok := sight.Job(cluster.JobID(id))
	if !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no job %q", id))
		return
	}
	if h.c.Queue != nil {
		var err error
		if job.Flow, err = view.FlowOf(r.Context(), h.c.Queue, sight.Value(), cluster.JobID(id)); err != nil {
			job.FlowError = err.Error()
		}
	}
	answer(w, job)
}

func (h *handler) plan(w http.ResponseWriter, r *http.Request) {
	var without []cluster.MemberID
	for _, m := range r.URL.Query()["without"] {
		without = append(without, cluster.MemberID(m))
	}
	plan, err := view.PlanWithout(h.c.Value(), without)
	if err != nil {
		fail(w, http.StatusNotFound, err.Error())
		return
	}
	answer(w, plan)
}

// ItIs is the answer of /healthz to a prober that has the right member and store.
const ItIs = "ok: that member\n"

// alive says that the process answers. It needs no token, so it does not say who that is: a prober says whom it asks,
// and hears whether that is so.
func (h *handler) alive(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	member, store := q.Get("member"), q.Get("store")
	switch {
	case member == "" && store == "":
		text(w, http.StatusOK, "ok\n")
	case member != "" && member != h.c.Member || store != "" && store != h.place():
		text(w, http.StatusMisdirectedRequest, "another member, or of another cluster\n")
	default:
		text(w, http.StatusOK, ItIs)
	}
}

func (h *handler) place() string { return cmp.Or(h.c.Place, h.c.Store) }

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why not
	Member  string   `json:"member"`  // who answers
	Store   string   `json:"store"`   // where its cluster is; a directory is an absolute path
}

func (h *handler) ready(w http.ResponseWriter, _ *http.Request) {
	r := Readiness{Reasons: []string{}, Member: h.c.Member, Store: h.place()}
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

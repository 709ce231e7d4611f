package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/localsock"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store"
)

// localPath is where a member says something to commands on its machine. It names the build: a command of another one
// reads the store itself.
func localPath(what string) string {
	return "/" + version + "/" + cmp.Or(revision(), "unknown") + "/" + what
}

// saysOverview is what a member says.
const saysOverview = "overview"

// catchUpWithin is for how long a member waits until it has the entries that are in the log.
const catchUpWithin = 200 * time.Millisecond

// localServer answers commands on this machine. Its methods may be called from any goroutine.
type localServer struct {
	view.Viewer
	docs    store.Docs
	log     store.Log
	whole   func() cluster.Value
	changed func() <-chan struct{} // closed by the next change of the value
	one     sync.Mutex             // a look goes through all tasks: the member's own work comes first
}

// openLocalServer listens for commands on this machine; nil where they read the store: it is not a directory, or the
// log alone does not say what is true.
func (c *config) openLocalServer(n *node.Node) (*localServer, net.Listener) {
	dir, err := stores.Directory(c.store)
	log, ok := c.node.Store.(store.Log)
	if _, whole := c.node.Protocol.(protocol.Historian); err != nil || dir == "" || !ok || !whole {
		return nil, nil
	}
	l, err := localsock.Listen(dir, string(c.node.Member))
	if err != nil {
		c.node.Logger.Info("commands read the store themselves", "err", err)
		return nil, nil
	}
	return &localServer{
		Viewer: view.Viewer{
			Lookout: view.NewLookout(c.node.Store, protocol.Now), Journal: n.Journal(), Queue: n.Queue(),
			Store: storeurl.Hide(c.store), Protocol: c.node.Protocol.Name(),
		},
		docs: c.node.Store, log: log, whole: n.Whole, changed: n.Changed,
	}, l
}

// serve answers until ctx ends.
func (s *localServer) serve(ctx context.Context, l net.Listener, logger *slog.Logger) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+localPath(saysOverview), s.overviewFor)
	server := &http.Server{Handler: mux, ReadTimeout: localWithin, WriteTimeout: answerWithin, MaxHeaderBytes: 4 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)}
	server.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		logger.Warn("answer commands on this machine", "err", err)
	}
}

func (s *localServer) overviewFor(w http.ResponseWriter, r *http.Request) {
	seen, err := s.overview(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	data, err := json.Marshal(seen)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(data) // the command may have ended
}

func (s *localServer) overview(ctx context.Context) (overview, error) {
	s.one.Lock()
	defer s.one.Unlock()
	v, head, err := s.caughtUp(ctx)
	if err != nil {
		return overview{}, err
	}
	sight, err := s.Look(ctx, v)
	if err != nil {
		return overview{}, err
	}
	seen, err := overviewOf(ctx, s.docs, s.Viewer, sight)
	seen.Head = head
	return seen, err
}

// errNew is the answer of a member that has not read the log yet.
var errNew = errors.New("this member has only just begun")

// caughtUp returns the value with all entries that are in the log now, and the log's newest index. If the member does
// not get so far in a short time, the value is an earlier one.
func (s *localServer) caughtUp(ctx context.Context) (cluster.Value, uint64, error) {
	v := s.whole()
	if v.Index() == 0 {
		return v, 0, errNew
	}
	page, err := s.log.Read(ctx, uint64(v.Index()), 1)
	if err != nil {
		return v, 0, err
	}
	patience := time.NewTimer(catchUpWithin)
	defer patience.Stop()
	for {
		changed := s.changed()
		if v = s.whole(); uint64(v.Index()) >= page.Head {
			return v, page.Head, nil
		}
		select {
		case <-ctx.Done():
			return v, 0, context.Cause(ctx)
		case <-patience.C:
			return s.whole(), page.Head, nil
		case <-changed:
		}
	}
}

// overview is what rota status shows to people: as the command itself has found it out, or a member on this machine.
type overview struct {
	Status    view.Status  `json:"status"`
	Unguarded []string     `json:"unguarded"` // members without a guardian that need one, sorted
	Undecided []string     `json:"undecided"` // members of whom another look may tell more, sorted
	Sinks     []memberSink `json:"sinks"`     // of all members
	Head      uint64       `json:"head"`      // the newest index of the log when a member was asked
}

func overviewOf(ctx context.Context, docs store.Docs, w view.Viewer, sight view.Sight) (overview, error) {
	s, err := w.Status(ctx, sight)
	if err != nil {
		return overview{}, err
	}
	sinks, err := sinksOf(ctx, docs, sight.Value())
	return overview{Status: s, Unguarded: sight.Unguarded(), Undecided: undecided(sight, false), Sinks: sinks}, err
}

// metricsOf is what /metrics of a member shows: its own, those of flows, of the Go runtime and the process, and which
// build it is.
func metricsOf(n *node.Node) prometheus.Gatherer {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rota_build_info", Help: "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision(), "goversion": runtime.Version(),
			"rota_member": string(n.Member())},
	})
	info.Set(1)
	read := func() []node.Metric { return append(n.Metrics(), view.Metrics(n.Value())...) }
	reg.MustRegister(api.NewCollector(n.Member(), read), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info)
	if queue := n.Queue(); queue != nil {
		reg.MustRegister(api.NewFlowCollector(queue, n.Value))
	}
	return reg
}

// actions are what the API of this member does, in the member's name and by its types.
func (c *config) actions(n *node.Node) *api.Actions {
	return &api.Actions{
		Operator: operate.New(operate.Inside(n), c.node.Store, n.Queue(), c.node.Types,
			fmt.Sprintf("API of %s", c.node.Member)),
		Job: func(definition []byte) (cluster.JobID, cluster.JobSpec, error) {
			id, spec, err := source.ParseJob(stdinName, definition, c.node.Types, foreignType)
			if id == source.ID(stdinName) {
				id = ""
			}
			return id, spec, err
		},
	}
}

// foreignType reports whether a type is of the members' own program: this binary cannot check it.
func foreignType(name string) bool {
	return strings.Contains(name, ".") && !strings.HasPrefix(name, "rota.")
}

// Ping is the argument of the function ping.
type Ping struct {
	Text string `json:"text,omitempty"` // comes back
}

// Pong is its result.
type Pong struct {
	Member  string `json:"member"`
	Version string `json:"version"`
	AtMS    int64  `json:"at_ms"` // by that member's clock
	Text    string `json:"text,omitempty"`
}

// functions are those of this binary and of the program, for a member that has slots to run them on.
func (c *config) functions() []call.Function {
	if c.node.Slots <= 0 {
		return nil
	}
	ping := call.NewFunc("ping", func(_ context.Context, p Ping) (Pong, error) {
		return Pong{Member: string(c.node.Member), Version: version, AtMS: time.Now().UnixMilli(), Text: p.Text}, nil
	}, call.Options{})
	return append([]call.Function{ping}, c.own.Functions...)
}

package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/nearby"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
)

// deskPath is where a member says something to commands on its machine. It names the build: a command of another one reads the store itself.
func deskPath(what string) string {
	return "/" + version + "/" + cmp.Or(revision(), "unknown") + "/" + what
}

// saysOverview is what a member says.
const saysOverview = "overview"

// catchUpWithin is for how long a member waits until it has the entries that are in the log.
const catchUpWithin = 200 * time.Millisecond

// desk answers commands on this machine. Its methods may be called from any goroutine.
type desk struct {
	view.Viewer
	docs    store.Docs
	log     store.Log
	whole   func() cluster.Value
	changed func() <-chan struct{} // closed by the next change of the value
	one     sync.Mutex             // a look goes through all tasks: the member's own work comes first
}

// openDesk listens for commands on this machine; nil where they read the store: it is not a directory, or the log alone does not say what is true.
func (c *config) openDesk(n *node.Node) (*desk, net.Listener) {
	dir, err := stores.Directory(c.store)
	log, ok := c.node.Store.(store.Log)
	if _, whole := c.node.Protocol.(protocol.Historian); err != nil || dir == "" || !ok || !whole {
		return nil, nil
	}
	l, err := nearby.Listen(dir, string(c.node.Member))
	if err != nil {
		c.node.Logger.Info("commands read the store themselves", "err", err)
		return nil, nil
	}
	return &desk{
		Viewer: view.Viewer{
			Lookout: view.NewLookout(c.node.Store, protocol.Now), Journal: n.Journal(), Queue: n.Queue(), Store: storeurl.Hide(c.store), Protocol: c.node.Protocol.Name(),
		},
		docs: c.node.Store, log: log, whole: n.Whole, changed: n.Changed,
	}, l
}

// serve answers until ctx ends.
func (d *desk) serve(ctx context.Context, l net.Listener, logger *slog.Logger) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+deskPath(saysOverview), d.overviewFor)
	s := &http.Server{Handler: mux, ReadTimeout: nearbyWithin, WriteTimeout: answerWithin, MaxHeaderBytes: 4 << 10, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)}
	s.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		logger.Warn("answer commands on this machine", "err", err)
	}
}

func (d *desk) overviewFor(w http.ResponseWriter, r *http.Request) {
	d.one.Lock()
	defer d.one.Unlock()
	v, head, err := d.caughtUp(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	sight, err := d.Look(r.Context(), v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	seen, err := overviewOf(r.Context(), d.docs, d.Viewer, sight)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	seen.Head = head
	sayJSON(w, seen)
}

// errNew is the answer of a member that has not read the log yet.
var errNew = errors.New("this member has only just begun")

// caughtUp returns the value with all entries that are in the log now, and the log's newest index. If the member does not get so far in a short time, the
// value is an earlier one.
func (d *desk) caughtUp(ctx context.Context) (cluster.Value, uint64, error) {
	v := d.whole()
	if v.Index() == 0 {
		return v, 0, errNew
	}
	page, err := d.log.Read(ctx, uint64(v.Index()), 1)
	if err != nil {
		return v, 0, err
	}
	patience := time.NewTimer(catchUpWithin)
	defer patience.Stop()
	for {
		changed := d.changed()
		if v = d.whole(); uint64(v.Index()) >= page.Head {
			return v, page.Head, nil
		}
		select {
		case <-ctx.Done():
			return v, 0, context.Cause(ctx)
		case <-patience.C:
			return d.whole(), page.Head, nil
		case <-changed:
		}
	}
}

// sayJSON answers. The command may have ended.
func sayJSON(w http.ResponseWriter, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(data)
}

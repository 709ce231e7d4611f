//go:build unix

package command

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
)

// testLocalServer is that of a member a, which has the value that the test gives it.
type testLocalServer struct {
	*written
	value   atomic.Pointer[cluster.Value]
	asked   atomic.Int64
	changed chan struct{}
	after   func(asked int64) // is called after the value was looked at; may be nil
}

func newTestLocalServer(w *written) *testLocalServer {
	d := &testLocalServer{written: w, changed: make(chan struct{})}
	v := w.value
	d.value.Store(&v)
	return d
}

// open answers until the test ends.
func (d *testLocalServer) open() {
	d.t.Helper()
	c := &config{store: "file:store", node: node.Config{Member: "a", Protocol: lease.Protocol{}, Store: d.st}}
	n := must.Get(node.New(c.node))(d.t)
	if _, l := c.openLocalServer(n); l != nil {
		d.t.Error("a member answers from a log that its protocol does not keep")
	}
	c.node.Protocol = replica.Protocol{}
	n = must.Get(node.New(c.node))(d.t)
	server, l := c.openLocalServer(n)
	server.Store, server.whole = "file:elsewhere", d.whole
	server.changed = func() <-chan struct{} { return d.changed }
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.serve(ctx, l, slog.New(slog.DiscardHandler))
	}()
	d.t.Cleanup(func() { cancel(); <-done })
}

func (d *testLocalServer) whole() cluster.Value {
	v, asked := *d.value.Load(), d.asked.Add(1)
	if d.after != nil {
		d.after(asked)
	}
	return v
}

func (d *testLocalServer) status() string {
	d.t.Helper()
	out, stderr, code := here("", "status", "--store", "file:store")
	if code != exitOK {
		d.t.Fatalf("exit %d: %s", code, stderr)
	}
	return out
}

// propose puts one more task into the log; the server does not hear of it.
func (d *testLocalServer) propose(job cluster.JobID) cluster.Value {
	d.t.Helper()
	must.Succeed(d.t, must.Err(replica.NewClient(d.st).Propose(d.t.Context(),
		cluster.SubmitJob{Job: job, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})))
	v, err := fold.Observe(d.t.Context(), d.st, *d.value.Load())
	must.Succeed(d.t, err)
	return v
}

// TestStatusFromAMember shows the same lines as one that reads the store, problems too.
func TestStatusFromAMember(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"fits": {Tasks: []cluster.TaskSpec{{Type: "noop"}}},
		"waits": {Tasks: []cluster.TaskSpec{{Type: "noop",
			Selector: []cluster.Label{{Key: "zone", Value: "nowhere"}}}}}})
	w.put(node.SinksPrefix+"a",
		node.Sinks{Member: "a", Sinks: []node.Sink{{Name: "influx://x:1", Dropped: 7, LastError: "it is full"}}})
	w.put(node.FailingPrefix+"a", node.Failing{Member: "a", Failing: 1,
		Runs: []node.FailingRun{{Partition: "fits", State: node.StateFailing, Message: "it is sick"}}})
	for _, m := range []string{"a", "b"} {
		w.put("pulse/"+m+"/1", map[string]any{"member": m, "at_ms": time.Now().Add(time.Hour).UnixMilli(),
			"ttl_ms": 60_000, "guardian": "off"})
	}
	d := newTestLocalServer(w)
	read := d.status()
	d.open()
	if d.asked.Load() > 0 {
		t.Fatal("nobody has asked yet")
	}
	if said := d.status(); said != read || d.asked.Load() == 0 {
		t.Errorf("asked %d times, the member says\n%swant\n%s", d.asked.Load(), said, read)
	}
	if !containsAll(read, []string{"! waiting  waits", "sink  influx://x:1  on a  dropped 7"}) {
		t.Errorf("status shows no problem or no sink:\n%s", read)
	}
	before := d.asked.Load()
	if here("", "status", "--store", "file:store", "-o", "json"); d.asked.Load() != before {
		t.Error("a member was asked for what it does not say")
	}
}

// TestAMemberCatchesUp: an answer has what was in the log when the question came, or says that it has not.
func TestAMemberCatchesUp(t *testing.T) {
	d := newTestLocalServer(newWritten(t, nil))
	d.open()
	old := d.value.Load().Index()
	v := d.propose("late")
	if out, want := d.status(), fmt.Sprintf("index %d of %d ·", old, v.Index()); !strings.Contains(out, want) ||
		!strings.Contains(out, "tasks 0") {
		t.Errorf("got\n%swant %s", out, want)
	}
	before := d.asked.Load()
	d.after = func(asked int64) {
		if asked == before+2 { // it has seen the log, and that its value is older
			d.value.Store(&v)
			close(d.changed)
		}
	}
	if out, want := d.status(), fmt.Sprintf("index %d ·", v.Index()); !strings.Contains(out, want) ||
		!strings.Contains(out, "tasks 1:") {
		t.Errorf("got\n%swant %s", out, want)
	}
}

// TestNobodyKnowsEnough: a member that has not read the log yet says nothing, and the command reads the store.
func TestNobodyKnowsEnough(t *testing.T) {
	d := newTestLocalServer(newWritten(t, nil))
	read := d.status()
	d.value.Store(&cluster.Value{})
	d.open()
	if said := d.status(); said != read || d.asked.Load() == 0 {
		t.Errorf("asked %d times, got\n%swant\n%s", d.asked.Load(), said, read)
	}
}

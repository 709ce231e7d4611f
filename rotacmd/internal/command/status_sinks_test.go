package command

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
)

// TestNoCommandDialsARecord: whoever can write the store can put any address into the record of a member. No command
// connects to it, let alone with a token.
func TestNoCommandDialsARecord(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadSingle)})
	var dialled atomic.Int64
	trap := httptest.NewUnstartedServer(http.NotFoundHandler())
	trap.Config.ConnState = func(net.Conn, http.ConnState) { dialled.Add(1) }
	trap.Start()
	defer trap.Close()
	address := trap.Listener.Addr().String()
	must.Succeed(t, must.Err(replica.NewClient(w.st).Propose(t.Context(), cluster.PrepareJoin{Member: "trap", Heartbeat: "pulse/trap/1", Address: address})))
	for _, command := range []string{
		"status", "status -o json", "status --check", "member list", "member list -o json", "task list", "task list -o json", "why x", "job list --all", "member plan trap", "events", "log list",
		"member show trap", "source list", "member drain trap", "member undrain trap", "task trigger x",
	} {
		_, errs, code := with(map[string]string{"ROTA_API_TOKEN": "env:T", "T": "hunter2"}, "", append(strings.Fields(command), "--store", "file:store")...)
		if code == exitUsage {
			t.Errorf("rota %s: %s", command, errs)
		}
		if dialled.Swap(0) > 0 {
			t.Errorf("rota %s connects to an address that a record names", command)
		}
	}
}

// TestStatusShowsSinks as the members have written: those that fail first, none of a member that is no more, none under
// another's name.
func TestStatusShowsSinks(t *testing.T) {
	w := newWritten(t, nil)
	w.alive()
	w.put(node.SinksPrefix+"a", node.Sinks{Member: "a", Sinks: []node.Sink{{Name: "kafka://k:1"}}})
	w.put(node.SinksPrefix+"b", node.Sinks{Member: "b", Sinks: []node.Sink{{Name: "otlp://o:1", Dropped: 4, Errors: 3, Late: true, LastError: "it is \x1b[2Jfull"}}})
	w.put(node.SinksPrefix+"gone", node.Sinks{Member: "gone", Sinks: []node.Sink{{Name: "nats://gone:1"}}})
	w.put(node.SinksPrefix+"c", node.Sinks{Member: "a", Sinks: []node.Sink{{Name: "nats://forged:1"}}})
	out, _, _ := w.rota("status", "--store", "file:store")
	_, sinks, _ := strings.Cut(out, "\nsink")
	want := []string{"otlp://o:1", "on b", "dropped 4", "errors 3", "samples wait", "it is ·[2Jfull", "\nsink  kafka://k:1", "on a"}
	if !containsAll(sinks, want) || strings.Contains(sinks, "nats") {
		t.Errorf("got\n%s", out)
	}
	w.shows("status -o json", exitOK, `{"member":"b","name":"otlp://o:1","dropped":4,"errors":3,"late":true`)
}

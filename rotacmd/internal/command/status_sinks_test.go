package command

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/cluster"
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
	must.Succeed(t, must.Err(replica.NewClient(w.st).Propose(t.Context(),
		cluster.PrepareJoin{Member: "trap", Heartbeat: "pulse/trap/1", Address: address})))
	for _, command := range []string{
		"status", "status -o json", "status --check", "member list", "member list -o json", "task list",
		"task list -o json", "why x", "job list --all", "member plan trap", "events", "log list",
		"member show trap", "source list", "member drain trap", "member undrain trap", "task trigger x",
	} {
		_, errs, code := with(map[string]string{"ROTA_API_TOKEN": "env:T", "T": "hunter2"}, "",
			append(strings.Fields(command), "--store", "file:store")...)
		if code == exitUsage {
			t.Errorf("rota %s: %s", command, errs)
		}
		if dialled.Swap(0) > 0 {
			t.Errorf("rota %s connects to an address that a record names", command)
		}
	}
}

package cli_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process/processtest"
)

// TestTheReaderGoesAway: rota run | head leaves gracefully when head has seen enough.
func TestTheReaderGoesAway(t *testing.T) {
	p := newPlace(t)
	p.task("t.yaml", "type: noop\nevery: 50ms\nconfig: {emit: true}\n")
	read, write, err := os.Pipe()
	must.Succeed(t, err)
	cmd := p.command("run", "--store", p.store, "--member", "a", "--listen", "none", "--ttl", "30s", "tasks")
	cmd.Stdout = write
	m := &running{p, processtest.Start(p.t, "a", cmd)}
	must.Succeed(t, write.Close())
	must.Succeed(t, must.Err(io.ReadFull(read, make([]byte, 10))))
	must.Succeed(t, read.Close())
	if code := m.end(); code != exitOK || !strings.Contains(m.Stderr.String(), "a left gracefully") {
		t.Errorf("exit %d: %s", code, m.Stderr.String())
	}
}

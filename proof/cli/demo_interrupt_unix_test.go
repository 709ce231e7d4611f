//go:build unix

package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process/processtest"
)

// A terminal sends ctrl-c to the command and to the server that it has started. The members leave gracefully all the
// same, and then the server ends.
func TestAnInterruptedDemoOnAServer(t *testing.T) {
	p := newPlace(t)
	m := processtest.Start(t, "rota demo", p.command("demo", "--store", "etcd:"))
	await(t, "all tasks run", func() bool { return strings.Contains(m.Stdout.String(), "all 12 tasks run") })
	must.Succeed(t, syscall.Kill(-m.PID(), syscall.SIGINT))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if code, err := m.Wait(ctx); err != nil || code != exitFailed {
		t.Errorf("exit %d, %v", code, err)
	}
	logs, err := filepath.Glob(filepath.Join(p.dir, "rota-demo-*", "*.log"))
	if err != nil || len(logs) != 3 {
		t.Fatalf("logs of members: %q, %v; it said\n%s%s", logs, err, m.Stdout.String(), m.Stderr.String())
	}
	for _, log := range logs {
		name := strings.TrimSuffix(filepath.Base(log), ".log")
		if text, err := os.ReadFile(log); err != nil ||
			!strings.HasSuffix(strings.TrimSpace(string(text)), name+" left gracefully") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if left, err := filepath.Glob(filepath.Join(p.dir, "rota-demo-etcd-*")); err != nil || len(left) > 0 {
		t.Errorf("the data of the server is still there: %q, %v", left, err)
	}
}

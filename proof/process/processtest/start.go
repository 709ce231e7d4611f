package processtest

import (
	"os/exec"
	"testing"

	"github.com/rota-run/rota/proof/process"
)

// Start starts a process that is killed when the test ends. If the test failed, what the process wrote to its standard error is logged under its name.
func Start(t testing.TB, name string, cmd *exec.Cmd) *process.Process {
	t.Helper()
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", name, p.Stderr.String())
		}
	})
	return p
}

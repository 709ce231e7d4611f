package rig

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// Process is the binary of the test, started again to do something beside it. It ends with its input.
type Process struct {
	Cmd   *exec.Cmd
	Stdin io.WriteCloser
	lines *bufio.Scanner
}

// Again starts it with a variable that says what it is for. It is killed when the test ends.
func Again(t testing.TB, variable, value string, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), variable+"="+value)
	cmd.Stderr = os.Stderr
	stdin := must.Get(cmd.StdinPipe())(t)
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	p := &Process{cmd, stdin, bufio.NewScanner(stdout)}
	t.Cleanup(p.Kill)
	return p
}

// Line waits for the next line; false at the end of the output.
func (p *Process) Line() (string, bool) {
	more := p.lines.Scan()
	return p.lines.Text(), more
}

// Kill is kill -9.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	_ = p.Cmd.Wait()
}

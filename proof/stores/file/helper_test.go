package file_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// Tests that need several processes start the test binary again; this variable says what the process is for.
const helperVariable = "ROTA_FILE_TEST_HELPER"

// helpers are what such a process can do. It gets the store's directory as its argument, talks on stdout, and ends with stdin.
var helpers = map[string]func(ctx context.Context, dir string, out io.Writer) error{
	"append":     helpAppend,
	"append ten": helpAppendTen,
	"session":    helpSession,
	"open":       helpOpen,
	"bare":       helpBare,
}

func runHelper(run func(ctx context.Context, dir string, out io.Writer) error) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the test, however that ends
		cancel()
	}()
	if err := run(ctx, os.Args[1], os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is a helper that runs.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func start(t testing.TB, helper, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), helperVariable+"="+helper)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must.Succeed(t, err)
	stdout, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	p := &process{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	t.Cleanup(func() { p.kill() })
	return p
}

// line waits for the next line; false at the end of the output.
func (p *process) line() (string, bool) {
	if !p.lines.Scan() {
		return "", false
	}
	return p.lines.Text(), true
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

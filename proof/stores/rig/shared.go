package rig

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// Shared is a server that most tests of a package use. It starts when the first of them asks for it.
type Shared[S interface{ Stop() }] struct {
	Start   func(context.Context) (S, error)
	Require func(testing.TB, error) // judges the error of Start

	once   sync.Once
	server S
	err    error
	up     bool
	names  atomic.Int64
}

// Server is the server.
func (s *Shared[S]) Server(t testing.TB) S {
	t.Helper()
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), LongPatience)
		defer cancel()
		s.server, s.err = s.Start(ctx)
		s.up = s.err == nil
	})
	s.Require(t, s.err)
	return s.server
}

// Name is one that nobody else uses on the server.
func (s *Shared[S]) Name() string { return fmt.Sprintf("t%d-%d", os.Getpid(), s.names.Add(1)) }

// Stop stops the server, if a test has asked for it.
func (s *Shared[S]) Stop() {
	if s.up {
		s.server.Stop()
	}
}

// Run runs the tests of a package, stops the server and others, and looks for goroutines that were left.
func (s *Shared[S]) Run(m *testing.M, others ...interface{ Stop() }) int {
	code := m.Run()
	s.Stop()
	for _, other := range others {
		other.Stop()
	}
	if err := Leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// Main runs the tests of a package beside a server that is started before them, with a folder of its own.
func Main[S interface{ Stop() }](m *testing.M, start func(ctx context.Context, dir string) (S, error)) int {
	dir, err := os.MkdirTemp("", "rota-server-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }() // what is left is in the folder for temporary files
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		var server S
		if server, err = start(ctx, dir); err == nil {
			return new(Shared[S]).Run(m, server)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// Own starts a server that belongs to the test alone, which may kill it, as MayKill says.
func Own[S interface{ Stop() }](
	t testing.TB, variable string, require func(testing.TB, error), start func(context.Context) (S, error),
) S {
	t.Helper()
	MayKill(t, variable)
	s, err := start(LongDeadline(t))
	require(t, err)
	t.Cleanup(s.Stop)
	return s
}

// MayKill skips a test that kills servers where a variable names those of somebody else.
func MayKill(t testing.TB, variable string) {
	t.Helper()
	if os.Getenv(variable) != "" {
		t.Skipf("NOT TESTED: the servers of %s must not be killed", variable)
	}
}

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

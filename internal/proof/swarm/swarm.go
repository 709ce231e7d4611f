// Package swarm runs the program of a test as several processes, and reads what they print.
//
// # Purpose
//
// The examples of the modules for vendors share work among processes, some of which are killed. Their tests have no
// other program than themselves: a variable of the environment makes the test binary the example.
package swarm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// Main runs the tests, or, where the variable is set, the program of the example until it ends or gets SIGTERM.
func Main(m *testing.M, variable string, run func(ctx context.Context, args []string, out io.Writer) error) {
	if os.Getenv(variable) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		os.Exit(1)
	}
	stop()
}

// Process is one of a swarm.
type Process struct {
	Name   string
	Killed bool  // by Kill
	Err    error // how it has ended
	cmd    *exec.Cmd
}

// Line is one that a process has written to its standard output, or that it will write no more.
type Line struct {
	By    *Process
	Text  string
	Ended bool
}

// Swarm is some processes that share work.
type Swarm struct {
	Lines chan Line
	Up    []*Process

	t        testing.TB
	variable string
	args     []string
}

// New is a swarm of which no process has started: each is this test itself, with the variable set and the arguments
// behind -member NAME.
func New(t testing.TB, variable string, args ...string) *Swarm {
	return &Swarm{Lines: make(chan Line), t: t, variable: variable, args: args}
}

// Start starts a process.
func (s *Swarm) Start(name string) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-member", name}, s.args...)...) //nolint:gosec // this test itself
	cmd.Env = append(os.Environ(), s.variable+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	p := &Process{Name: name, cmd: cmd}
	s.Up = append(s.Up, p)
	go s.read(p, out)
}

func (s *Swarm) read(p *Process, out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		s.Lines <- Line{By: p, Text: lines.Text()}
	}
	p.Err = p.cmd.Wait()
	s.Lines <- Line{By: p, Ended: true}
}

// Kill ends a process as the death of its machine would.
func (s *Swarm) Kill(p *Process) {
	p.Killed = true
	s.signal(p, syscall.SIGKILL)
}

// End asks those that were not killed to end in order.
func (s *Swarm) End() {
	for _, p := range s.Up {
		if !p.Killed {
			s.signal(p, syscall.SIGTERM)
		}
	}
}

func (s *Swarm) signal(p *Process, sig syscall.Signal) {
	if err := p.cmd.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}

// Package processtest has what tests need around real processes: programs built once, processes that end with their
// test, and bounded waits.
//
// # Purpose
//
// A test starts what a user runs. [Main] builds the programs for all tests of a package; [Start] ends a process with
// its test and logs what it said if the test failed; [Await] waits until a condition holds.
//
// # What is not guaranteed
//
// [Patience] bounds waits. It says nothing about how long things should take.
package processtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/process"
)

// Main runs the tests of a package with programs that are built once, and returns the exit code. The programs are given
// as packages; those outside of this module are built as its go.mod says. The directory in which they are is set before
// the tests begin and removed after them.
func Main(m *testing.M, dir *string, packages ...string) int {
	made, err := os.MkdirTemp("", "rota-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(made)
	if err := process.Build(context.Background(), made, packages...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*dir = made
	return m.Run()
}

// Start starts a process that is killed when the test ends. If the test failed, what the process wrote to its standard
// error is logged under its name.
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

// Patience bounds every wait.
const Patience = 60 * time.Second

// glance is the time between two looks at a condition, which is longer where a look takes long, as one of a command
// does: the looks of a test that waits would else take a core from those that work.
const (
	glance      = 20 * time.Millisecond
	longestRest = 500 * time.Millisecond
)

// Await looks until a condition holds, and fails the test when patience ends.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	limit := time.After(Patience)
	began := time.Now()
	for {
		looked := time.Now()
		if holds() {
			break
		}
		select {
		case <-time.After(min(max(glance, 3*time.Since(looked)), longestRest)):
		case <-limit:
			t.Fatalf("waited %s in vain: %s", Patience, what)
		}
	}
	t.Logf("%5d ms until %s", time.Since(began).Milliseconds(), what)
}

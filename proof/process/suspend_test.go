package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process"
)

// lockVariable makes the test binary a process that takes and lets go of the lock on a file without end, in several
// threads.
const lockVariable = "ROTA_PROCESS_TEST_LOCK"

// patience bounds what only a failure waits for.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if name := os.Getenv(lockVariable); name != "" {
		if err := lockWithoutEnd(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func lockWithoutEnd(name string) error {
	failed := make(chan error, 4)
	for range cap(failed) {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		go func() {
			for {
				if err := errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_EX),
					syscall.Flock(int(f.Fd()), syscall.LOCK_UN)); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin) // ends with the test
		failed <- errors.Join(err, errors.New("the test is over"))
	}()
	if _, err := io.WriteString(os.Stdout, "begun\n"); err != nil {
		return err
	}
	return <-failed
}

func start(t *testing.T, name string) *process.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockVariable+"="+name)
	in := must.Get(cmd.StdinPipe())(t)
	begun, theirs, err := os.Pipe()
	must.Succeed(t, err)
	defer begun.Close()
	cmd.Stdout = theirs
	p, err := process.Start(cmd)
	theirs.Close()
	must.Succeed(t, err)
	t.Cleanup(func() {
		in.Close()
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	if _, err := bufio.NewReader(begun).ReadString('\n'); err != nil {
		t.Fatalf("the process has not begun: %v: %s", err, p.Stderr.String())
	}
	return p
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// TestStopOutside suspends a process that takes a lock as often as it can: each time the lock can be had, and stays
// free.
func TestStopOutside(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	must.Succeed(t, os.WriteFile(name, nil, 0o600))
	p := start(t, name)
	f := must.Get(os.Open(name))(t)
	defer f.Close()
	for round := range 20 {
		must.Succeed(t, process.StopOutside(deadline(t), p.PID(), name))
		for range 20 {
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
				t.Fatalf("round %d: a process that was stopped outside of the lock has it: %v", round, err)
			}
			must.Succeed(t, syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
			time.Sleep(time.Millisecond) // waits: for a thread that runs on, if there is one
		}
		must.Succeed(t, process.Continue(p.PID()))
	}
}

// TestStopGivesUp: somebody else has the lock, and keeps it.
func TestStopGivesUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, other := filepath.Join(dir, "held"), filepath.Join(dir, "other")
	for _, name := range []string{held, other} {
		must.Succeed(t, os.WriteFile(name, nil, 0o600))
	}
	f := must.Get(os.Open(held))(t)
	defer f.Close()
	must.Succeed(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	p := start(t, other)
	ctx, cancel := context.WithTimeout(deadline(t), 50*time.Millisecond)
	defer cancel()
	if err := process.StopOutside(ctx, p.PID(), held); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time is over", err)
	}
	if err := process.StopOutside(deadline(t), p.PID(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a lock that does not exist: got %v", err)
	}
}

// TestStopOfWhatHasEnded says so.
func TestStopOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	must.Succeed(t, os.WriteFile(name, nil, 0o600))
	p := start(t, name)
	must.Succeed(t, p.Kill())
	if err := process.Stop(deadline(t), p.PID()); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("got %v, want that there is no such process", err)
	}
}

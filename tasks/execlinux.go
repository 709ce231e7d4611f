//go:build linux

package tasks

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const execSupported = true

// leftBehind is how long output is waited for that something outside the program's group holds open.
const leftBehind = time.Second

// runProgram runs a program to its end in a process group of its own. When ctx ends the group gets SIGTERM and, after the grace, SIGKILL. What
// the program leaves running in its group is killed when it ends. An error is that it could not be started or waited for.
//
// The kernel sends Pdeathsig when the thread that started the program ends, not the process; so one goroutine is locked to its
// thread for the program's whole life. It covers the program itself, should this process die, not what the program started.
func runProgram(ctx context.Context, c execConfig, env []string, stdout, stderr io.Writer) (execEnd, error) {
	type result struct {
		end execEnd
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		end, err := runLocked(ctx, c, env, stdout, stderr)
		done <- result{end, err}
	}()
	r := <-done
	return r.end, r.err
}

func runLocked(ctx context.Context, c execConfig, env []string, stdout, stderr io.Writer) (execEnd, error) {
	cmd := &exec.Cmd{
		Path: c.Argv[0], Args: c.Argv, Env: env, Dir: c.Dir, Stdout: stdout, Stderr: stderr, WaitDelay: leftBehind,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if err := cmd.Start(); err != nil {
		return execEnd{}, err
	}
	group := -cmd.Process.Pid
	exited, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		stopGroup(ctx, group, time.Duration(c.Grace), exited)
	}()
	waitErr := waitUnreaped(cmd.Process.Pid)
	close(exited)
	<-stopped
	// The program is a zombie until Wait, so that its number cannot be another group's yet.
	_ = unix.Kill(group, unix.SIGKILL)
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return execEnd{}, errors.Join(err, waitErr)
	}
	return endOf(cmd.ProcessState.Sys().(syscall.WaitStatus)), nil
}

func endOf(s syscall.WaitStatus) execEnd {
	if s.Signaled() {
		return execEnd{code: -1, signal: unix.SignalName(s.Signal())}
	}
	return execEnd{code: s.ExitStatus()}
}

// stopGroup returns when the program has exited.
func stopGroup(ctx context.Context, group int, grace time.Duration, exited <-chan struct{}) {
	select {
	case <-exited:
		return
	case <-ctx.Done():
	}
	_ = unix.Kill(group, unix.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-exited:
		return
	case <-t.C:
	}
	_ = unix.Kill(group, unix.SIGKILL)
	<-exited
}

// waitUnreaped returns when the process has exited and leaves it a zombie.
func waitUnreaped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

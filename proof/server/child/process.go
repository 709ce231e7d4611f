package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// ErrExited is the early end of a server.
var ErrExited = errors.New("the server ended")

// Process is a server's process. Its methods may be called from any goroutine.
type Process struct {
	cmd    *exec.Cmd
	said   tail
	exited chan struct{}
}

// Start starts a command. A goroutine keeps its thread for as long as the child lives: a child that is bound to its parent ends with the thread that started
// it.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stderr = &p.said
	cmd.Stdout = cmd.Stderr // the same writer: one goroutine copies
	bind(cmd)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended does not matter: it was killed, or its output says why
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Said is the end of what the process has written.
func (p *Process) Said() string { return p.said.String() }

// Running reports whether the process was started. A nil process was not.
func (p *Process) Running() bool { return p != nil }

// Kill is kill -9; it returns when the process is gone. A nil process is gone.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.exited
}

// Await asks again and again until the server serves. name says in errors what is awaited. The error wraps [ErrExited] or the cause of ctx, and has the end
// of what the process wrote.
func (p *Process) Await(ctx context.Context, name string, serves func() bool) error {
	for !serves() {
		select {
		case <-p.exited:
			return fmt.Errorf("start %s: %w: %s", name, ErrExited, p.Said())
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to serve: %w: %s", name, context.Cause(ctx), p.Said())
		case <-time.After(20 * time.Millisecond): // no event says when it is ready
		}
	}
	return nil
}

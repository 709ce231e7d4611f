package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Process is a process that was started. Its methods may be called from any goroutine.
type Process struct {
	Stdout, Stderr Output // what it wrote, where the command named no other place

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and was reaped
	err  error         // how it ended; read it when done is closed
}

// Start starts a command. The command must not be used any more.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.Stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.Stderr
	}
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Err is how the process ended: nil if it runs, or if its exit code was 0.
func (p *Process) Err() error {
	if !p.Ended() {
		return nil
	}
	return p.err
}

// Wait waits until the process has ended and returns its exit code; -1 if a signal ended it. The error wraps the cause of ctx.
func (p *Process) Wait(ctx context.Context) (code int, err error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the end of %s: %w", p.cmd.Path, context.Cause(ctx))
	}
}

// Signal sends a signal. The error wraps [os.ErrProcessDone] if the process has ended.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("send %s to %s: %w", s, p.cmd.Path, err)
	}
	return nil
}

// Kill is kill -9, and returns when the process is gone. It is no error if it has ended already.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.cmd.Path, err)
	}
	<-p.done
	return nil
}

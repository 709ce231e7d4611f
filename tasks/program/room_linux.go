package program

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether programs can be run on this system.
const Supported = true

// leftBehind is how long output is waited for that something outside of the program's own processes holds open.
const leftBehind = time.Second

// settle finds out what the system allows.
func (r *Room) settle(o Options) {
	if !o.NoGroup {
		var err error
		if r.group, err = newGroup(r.place.Mark); err == nil {
			r.place.Group = r.group.dir
			return
		}
		o.Logger.Info("no control groups for programs: what they start is found by its environment", "err", err)
	}
	if o.Adopt {
		r.adopts = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
	}
}

func (r *Room) close() error {
	if r.group == nil {
		return nil
	}
	return r.group.close()
}

// run keeps one goroutine on its thread for the program's whole life: the kernel sends Pdeathsig when the thread that
// started the program ends, not the process. It covers the program itself, should this process die together with
// whoever would end the rest.
func (r *Room) run(ctx context.Context, c Command) (End, error) {
	type result struct {
		end End
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		end, err := r.runLocked(ctx, c)
		done <- result{end, err}
	}()
	got := <-done
	return got.end, got.err
}

func (r *Room) runLocked(ctx context.Context, c Command) (End, error) {
	mark := r.mark()
	cmd, leaf, err := r.start(c, mark)
	if err != nil {
		return End{}, err
	}
	pid := cmd.Process.Pid
	exited, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		stopProcessGroup(ctx, -pid, c.Grace, exited)
	}()
	waitErr := waitUnreaped(pid)
	close(exited)
	<-stopped
	// The program is a zombie until Wait, so that its number cannot be another group's yet.
	_ = unix.Kill(-pid, unix.SIGKILL)
	leftErr := r.endRest(leaf, mark)
	err = cmd.Wait()
	r.forget(pid)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return End{}, errors.Join(err, waitErr)
	}
	return endOf(cmd.ProcessState.Sys().(syscall.WaitStatus)), leftErr
}

// start starts a program in a leaf of the control group, where there is one.
func (r *Room) start(c Command, mark string) (*exec.Cmd, *leaf, error) {
	var l *leaf
	if r.group != nil {
		r.group.sweep() // an owner that died together with its guardian: what it has left ends before its next owner's program begins
		var err error
		if l, err = r.group.leaf(mark); err != nil {
			return nil, nil, err
		}
	}
	cmd := &exec.Cmd{
		Path: c.Argv[0], Args: c.Argv, Env: append(c.Env[:len(c.Env):len(c.Env)], variable+"="+mark), Dir: c.Dir,
		Stdout: c.Stdout, Stderr: c.Stderr,
		WaitDelay:   leftBehind,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if l != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(l.file.Fd())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		if l != nil {
			err = errors.Join(err, l.remove())
		}
		return nil, nil, err
	}
	r.started[cmd.Process.Pid] = true
	return cmd, l, nil
}

// Start starts a child of this process that does not belong to a task: the room neither kills nor reaps it.
func (r *Room) Start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.started[cmd.Process.Pid] = true
	return nil
}

// Wait waits for a child that Start has started.
func (r *Room) Wait(cmd *exec.Cmd) error {
	defer r.forget(cmd.Process.Pid)
	return cmd.Wait()
}

func (r *Room) forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.started, pid)
}

// endRest ends what a program has left.
func (r *Room) endRest(l *leaf, mark string) error {
	if l != nil {
		err := l.kill()
		_ = l.remove() // Close of the room tries again
		return err
	}
	if r.adopts && !r.orphans() {
		return nil
	}
	err := endMarked(context.Background(), mark)
	if r.adopts {
		r.reap()
	}
	return err
}

// orphans reports whether this process has children that it has not started here: what ended programs have left.
func (r *Room) orphans() bool {
	all, err := children()
	if err != nil {
		return true // it cannot be known
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(all, func(pid int) bool { return !r.started[pid] })
}

// reap takes the exit codes of orphans that nobody else waits for.
func (r *Room) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := children()
	if err != nil {
		return
	}
	for _, pid := range all {
		if !r.started[pid] {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // one that lives is tried again at the end of the next program
		}
	}
}

func endOf(s syscall.WaitStatus) End {
	if s.Signaled() {
		return End{Code: -1, Signal: unix.SignalName(s.Signal())}
	}
	return End{Code: s.ExitStatus()}
}

// stopProcessGroup returns when the program has exited.
func stopProcessGroup(ctx context.Context, group int, grace time.Duration, exited <-chan struct{}) {
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

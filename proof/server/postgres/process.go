package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is the server's first process, the parent of all others.
type process struct {
	cmd    *exec.Cmd
	log    tail
	exited chan struct{}
}

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-64<<10):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}

// errExited is the early end of a server.
var errExited = errors.New("the server ended")

// Restart starts a server that was killed, with its data and its port, and returns when it serves.
func (s *Server) Restart(ctx context.Context) error {
	if s.release == nil {
		return ErrExternal
	}
	args := []string{"-D", s.data}
	for _, set := range s.settings {
		args = append(args, "-c", set)
	}
	p := &process{cmd: s.owner.command(s.data, s.program, args...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	bind(p.cmd)
	if err := p.launch(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.process = p
	return s.ready(ctx)
}

// launch starts the process. Its goroutine keeps its thread for as long as the child lives: a child that is bound to its parent ends with the thread that
// started it.
func (p *process) launch() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended does not matter: it was killed, or its output says why
		}
	}()
	return <-started
}

// ready waits until the server takes connections.
func (s *Server) ready(ctx context.Context) error {
	for {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		c, err := s.Connect(one, "postgres")
		if err == nil {
			err = c.Close(one)
		}
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-s.process.exited:
			return fmt.Errorf("start PostgreSQL at %s: %w: %s", s.addr, errExited, s.process.log.String())
		case <-ctx.Done():
			return fmt.Errorf("wait for PostgreSQL at %s to serve: %w: %w", s.addr, context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond): // no event says when it is ready
		}
	}
}

// Kill kills all processes of the server as kill -9 does. It returns when they are gone.
func (s *Server) Kill() error {
	if s.process == nil {
		return ErrExternal
	}
	s.process.kill()
	return nil
}

// Suspend stops all processes of the server, until Resume.
func (s *Server) Suspend() error { return s.signal(syscall.SIGSTOP) }

// Resume lets a suspended server go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	if s.process == nil {
		return ErrExternal
	}
	for _, pid := range s.process.all() {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal the server: %w", err)
		}
	}
	return nil
}

// Log is what the server said last.
func (s *Server) Log() string { return s.process.log.String() }

// all are the numbers of the server's processes, the first one first.
func (p *process) all() []int {
	pid := p.cmd.Process.Pid
	all := []int{pid}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children"))
	if err != nil {
		return all
	}
	for _, f := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(f); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// kill stops the first process, so that it starts no others, and then kills them all. A backend that outlived it would keep the next one from starting.
func (p *process) kill() {
	_ = syscall.Kill(p.cmd.Process.Pid, syscall.SIGSTOP) // it may have ended without us
	all := p.all()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.exited
	for _, pid := range all[1:] {
		for alive(pid) {
			time.Sleep(time.Millisecond) // waits: for somebody else's child no event says that it is gone
		}
	}
}

// alive tells whether a process is there and has not ended: one that waits for its parent's attention has.
func alive(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

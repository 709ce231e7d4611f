package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	procs "github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/server/child"
)

// process is the server's first process, the parent of all others.
type process struct{ *child.Process }

// Restart starts a server that was killed, with its data and its port, and returns when it serves.
func (s *Server) Restart(ctx context.Context) error {
	if s.release == nil {
		return ErrExternal
	}
	args := []string{"-D", s.data}
	for _, set := range s.settings {
		args = append(args, "-c", set)
	}
	cmd := s.owner.command(s.data, s.program, args...)
	procs.Bind(cmd, syscall.SIGQUIT) // at once, as in a crash
	p, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.process = &process{p}
	return s.ready(ctx)
}

// ready waits until the server takes connections.
func (s *Server) ready(ctx context.Context) error {
	return s.process.Await(ctx, "PostgreSQL at "+s.addr, func() bool {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		c, err := s.Connect(ctx, "postgres")
		return err == nil && c.Close(ctx) == nil
	})
}

// Kill kills all processes of the server as kill -9 does. It returns when they are gone.
func (s *Server) Kill() error {
	if s.process == nil {
		return ErrExternal
	}
	s.process.kill()
	return nil
}

// all are the numbers of the server's processes, the first one first.
func (p *process) all() []int {
	pid := p.PID()
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

// kill stops the first process, so that it starts no others, and then kills them all. A backend that outlived it would
// keep the next one from starting.
func (p *process) kill() {
	_ = syscall.Kill(p.PID(), syscall.SIGSTOP) // it may have ended without us
	all := p.all()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.Done()
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

package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rota-run/rota/protocol"
)

// process is one member.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{} // closed when it has ended
	err  error         // how; read it when done is closed
}

// ttl of the members.
const ttl = 4 * time.Second

func (p *Play) start(name string) error {
	log, err := os.OpenFile(filepath.Join(p.dir, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("start member %s: %w", name, err)
	}
	cmd := exec.Command(p.binary, "run", "--store", p.server().Store, "--member", name, "--ttl", ttl.String(),
		"--witness", p.witness(name), "--publish", "none", "--dev-types", filepath.Join(p.dir, "tasks"))
	if p.options.NoSessions {
		cmd.Args = append(cmd.Args, "--no-sessions")
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.dir, log, log, attributes()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROTA_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start member %s: %w", name, err)
	}
	m := &process{name: name, cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		m.err = cmd.Wait()
		log.Close()
		close(m.done)
	}()
	p.members[name] = m
	return nil
}

// signal sends a signal to one member and returns an instant right before.
func (p *Play) signal(name string, s syscall.Signal) (protocol.Instant, error) {
	at := protocol.Now()
	if err := p.members[name].cmd.Process.Signal(s); err != nil {
		return at, fmt.Errorf("signal member %s: %w", name, err)
	}
	return at, nil
}

// stopping is longer than a process goes on after a signal that stops it.
const stopping = 10 * time.Millisecond

// stop suspends a member. In the middle of a write to a directory it would keep all others from writing, so there it goes on for a moment first.
func (p *Play) stop(ctx context.Context, name string) (at protocol.Instant, err error) {
	place, isFile := strings.CutPrefix(p.server().Store, "file:")
	dir, _, _ := strings.Cut(place, "?")
	err = p.await(ctx, name+" stands still, and not in the middle of a write", func() (bool, error) {
		var err error
		if at, err = p.signal(name, sigStop); err != nil || !isFile {
			return true, err
		}
		time.Sleep(stopping)
		if nobodyWrites(dir) {
			return true, nil
		}
		_, err = p.signal(name, sigCont)
		return false, err
	})
	return at, err
}

// close ends all members that still run, by their process, and waits for them.
func (p *Play) close() {
	for _, m := range p.members {
		_ = m.cmd.Process.Signal(sigCont) // it may have ended, or not be suspended
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
	}
	limit := time.After(5 * time.Second)
	for _, m := range p.members {
		select {
		case <-m.done:
		case <-limit:
			_ = m.cmd.Process.Kill()
			<-m.done
		}
	}
}

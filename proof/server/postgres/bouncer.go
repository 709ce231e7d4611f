package postgres

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rota-run/rota/internal/proof/port"
	procs "github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/server/child"
)

// Bouncer is a pgbouncer in front of a server.
type Bouncer struct {
	addr    string
	process *process
	release func()
}

// Bouncer starts a pgbouncer in front of this server, with a pool_mode. A [MissingError] says what this machine lacks.
func (s *Server) Bouncer(ctx context.Context, mode string) (*Bouncer, error) {
	if s.process == nil {
		return nil, ErrExternal
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		return nil, &MissingError{What: "pgbouncer", Variable: Variable, Err: err}
	}
	addrs, release, err := port.Find(1)
	if err != nil {
		return nil, err
	}
	b := &Bouncer{addr: addrs[0], release: release}
	_, to, _ := strings.Cut(s.addr, ":")
	_, at, _ := strings.Cut(b.addr, ":")
	name := "pgbouncer-" + at + ".ini"
	err = s.Write(name, fmt.Sprintf(`[databases]
rota = host=127.0.0.1 port=%s dbname=rota user=rota
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = %s
`, to, at, mode))
	if err != nil {
		b.Stop()
		return nil, err
	}
	cmd := s.owner.command(s.data, program, filepath.Join(s.data, name))
	procs.Bind(cmd, syscall.SIGQUIT)
	p, err := child.Start(cmd)
	if err != nil {
		b.Stop()
		return nil, fmt.Errorf("start pgbouncer: %w", err)
	}
	b.process = &process{p}
	if err := b.ready(ctx); err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

// ready waits until it listens.
func (b *Bouncer) ready(ctx context.Context) error {
	return b.process.Await(ctx, "pgbouncer", func() bool {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", b.addr)
		return err == nil && c.Close() == nil
	})
}

// Addr is the address of the pooler, host:port.
func (b *Bouncer) Addr() string { return b.addr }

// Stop kills it. It may be called again.
func (b *Bouncer) Stop() {
	if b.process != nil {
		b.process.kill()
		b.process = nil
	}
	if b.release != nil {
		b.release()
		b.release = nil
	}
}

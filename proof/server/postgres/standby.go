package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/proof/port"
)

// Standby starts a server that follows this one, which must let it in: see Options.HBA.
func (s *Server) Standby(ctx context.Context) (*Server, error) {
	if s.process == nil {
		return nil, ErrExternal
	}
	backup, err := Program("pg_basebackup")
	if err != nil {
		return nil, err
	}
	b := &Server{program: s.program, owner: s.owner}
	if err := b.folder(Options{}); err != nil {
		return nil, err
	}
	addrs, release, err := port.Find(1)
	if err != nil {
		return nil, err
	}
	b.addr, b.release = addrs[0], release
	host, number, _ := strings.Cut(s.addr, ":")
	out, err := b.owner.command(b.data, backup, "-D", b.data, "-R", "-X", "stream", "--no-sync", "-c", "fast", "-h", host, "-p", number, "-U", User).CombinedOutput()
	if err != nil {
		b.Stop()
		return nil, fmt.Errorf("copy the server for a standby: %w: %s", err, strings.TrimSpace(string(out)))
	}
	err = b.configure(Options{NoSync: true})
	if err == nil {
		err = b.Restart(ctx)
	}
	if err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

// Package place is where a measurement is done: a fresh store of one kind, with a server of its own where it needs one.
package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/zookeeper"
)

// ErrMissing says that this machine has nothing to start a server of that kind with.
var ErrMissing = server.ErrMissing

// Kinds are the kinds of stores that there are.
func Kinds() []string { return append([]string{"memory", "file"}, server.Kinds()...) }

// Place is a fresh store. Open may be called from any goroutine.
type Place struct {
	Kind string
	Dir  string // of its own; for a server's data too

	server *server.Server // nil: it needs none
	memory *memory.Server
}

// Make prepares a place; ctx bounds the start of its server alone. [ErrMissing] says that this machine cannot have such a server. Close it.
func Make(ctx context.Context, kind string) (*Place, error) {
	dir, err := os.MkdirTemp("", "rota-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a place: %w", err)
	}
	p := &Place{Kind: kind, Dir: dir}
	switch kind {
	case "memory":
		p.memory = memory.New()
	case "file":
	default:
		p.server, err = server.Spawn(ctx, kind, filepath.Join(dir, "server"))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// Hosts are the addresses of the server, host:port; none without a server.
func (p *Place) Hosts() []string {
	if p.server == nil {
		return nil
	}
	_, hosts, _ := strings.Cut(p.server.URL, "://")
	return strings.Split(hosts, ",")
}

// Open opens a handle of the store that has a name in this place: letters and digits.
func (p *Place) Open(ctx context.Context, name string) (protocol.Store, error) {
	switch p.Kind {
	case "memory":
		return p.memory.Open(), nil // one store, whatever its name
	case "file":
		return opened(file.Open(ctx, filepath.Join(p.Dir, name), file.Options{}))
	case "etcd":
		return opened(etcd.Open(ctx, etcd.Options{Endpoints: p.Hosts(), Prefix: name}))
	case "nats":
		return opened(nats.Open(ctx, nats.Options{URLs: []string{p.server.URL}, Bucket: name}))
	default:
		return opened(zookeeper.Open(ctx, zookeeper.Options{Servers: p.Hosts(), Path: "/" + name}))
	}
}

// opened is nil where there was an error, and not a store that is.
func opened[S protocol.Store](s S, err error) (protocol.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Requests is how many messages the server has got, by its own count; ok is false without a server.
func (p *Place) Requests(ctx context.Context) (n uint64, ok bool, err error) {
	if p.server == nil {
		return 0, false, nil
	}
	n, err = p.server.Requests(ctx)
	return n, true, err
}

// Close ends the server and removes what was written.
func (p *Place) Close() error {
	if p.server != nil {
		p.server.Stop()
	}
	if err := os.RemoveAll(p.Dir); err != nil {
		return fmt.Errorf("remove a place: %w", err)
	}
	return nil
}

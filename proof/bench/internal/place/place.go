// Package place is where a measurement is done: a fresh store of one kind, with a server of its own where it needs one.
package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
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

// Make prepares a place; ctx bounds the start of its server alone. [ErrMissing] says that this machine cannot have such
// a server. Close it.
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
	return p.server.Hosts()
}

// Open opens a handle of the store that has a name in this place: letters and digits.
func (p *Place) Open(ctx context.Context, name string) (store.Full, error) {
	switch p.Kind {
	case "memory":
		return p.memory.Open(), nil // one store, whatever its name
	case "file":
		s, err := file.Open(ctx, filepath.Join(p.Dir, name), file.Options{})
		if err != nil {
			return nil, err // and not a nil *file.Store
		}
		return s, nil
	default:
		return p.server.Open(ctx, name, false)
	}
}

// Requests is how many messages the server has got, by its own count; ok is false without a server, or where it does
// not count them.
func (p *Place) Requests(ctx context.Context) (n uint64, ok bool, err error) {
	if p.server == nil || p.server.Requests == nil {
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

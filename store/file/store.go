package file

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// The maximum sizes; above them, calls return ErrTooLarge.
const (
	MaxRecord   = 16 << 20        // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// Store is one handle on the directory. It is safe for concurrent use.
type Store struct {
	handle
	*disk
}

// handle is what the engine makes of a directory, without EndSession: the kernel does that.
type handle interface {
	store.Full
	store.GetMany
	store.LogWith
	store.Seeder
	store.Watcher
	store.LogWatcher
	store.Sessions
	store.Queue
}

// Open opens the store in dir, and creates it if it does not exist and the options allow that. An error says what failed,
// where, and what to try; then nothing is left open. ctx bounds only Open.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	d, err := open(ctx, dir, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open file store in %s: %w", dir, err)
	}
	h := full.NewVigilant(&rows{d}, full.Options{Place: d.dir, ReadOnly: o.ReadOnly, Logger: d.log})
	return &Store{h, d}, nil
}

// TakeSeat makes this handle one of those that may have sessions, until it is closed or its process ends. OpenSession
// does so too.
func (s *Store) TakeSeat() error { return s.disk.wrap(s.disk.takeSeat(), "take part") }

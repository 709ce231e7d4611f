package logqueue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// Journals are the logs of flows.
type Journals interface {
	// OpenJournal opens the log of a flow, and makes it if it is told to; else ErrNotFound where there is none.
	OpenJournal(ctx context.Context, flow string, create bool) (Journal, error)
	// DropJournal removes a log with all that is in it. Where there is none it does nothing.
	DropJournal(ctx context.Context, flow string) error
	// Removes reports whether nobody can append to a log that was removed, or read it: then no record need say so.
	Removes() bool
}

// Journal is the log of one flow, and a place for data that it names. ErrNotFound where it was dropped.
type Journal interface {
	// Append stores data and then a record, and returns the record and its index. Its outcome is that of
	// store.Log.Append.
	Append(ctx context.Context, a Append) (index uint64, record []byte, err error)
	// Read is that of store.Log.
	Read(ctx context.Context, after uint64, limit int) (store.Page, error)
	// MaxRecord is how many bytes a record may have, and each of the data.
	MaxRecord() int
	// Get reads data, in the order of the places; nil for what was freed.
	Get(ctx context.Context, at ...string) ([][]byte, error)
}

// Append is one append.
type Append struct {
	Data   [][]byte
	Record func(at []string) []byte // where the data are, or are going to be
	Light  bool                     // need not survive a power cut that no later record survives
}

// Keeper is a Journal that can forget. Read returns store.ErrTruncated where records are missing that were trimmed.
type Keeper interface {
	// Snapshot, SaveSnapshot and Trim are those of store.Log.
	Snapshot(ctx context.Context) (store.Record, error)
	SaveSnapshot(ctx context.Context, r store.Record) error
	Trim(ctx context.Context, index uint64) error
	// Free removes data. An error says only that some may be left.
	Free(ctx context.Context, at ...string) error
}

// Store is queues in logs. It is safe for concurrent use.
type Store struct {
	journals Journals
	name     string // random: begins the IDs that this handle gives

	mu    sync.Mutex
	ids   uint64
	flows map[string]*flow
}

var _ store.Queue = (*Store)(nil)

// New keeps queues in logs. It sends no request.
func New(j Journals) *Store {
	return &Store{journals: j, name: rand.Text()[:12], flows: make(map[string]*flow)}
}

func (s *Store) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return s.name + strconv.FormatUint(s.ids, 36)
}

// open returns a flow whose log is there.
func (s *Store) open(ctx context.Context, name string, create bool) (*flow, error) {
	s.mu.Lock()
	f := s.flows[name]
	s.mu.Unlock()
	if f != nil {
		return f, nil
	}
	j, err := s.journals.OpenJournal(ctx, name, create)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flows[name]; f != nil { // somebody was faster
		return f, nil
	}
	f = newFlow(j, s.name)
	s.flows[name] = f
	return f, nil
}

// gone forgets a flow that is not there any more.
func (s *Store) gone(name string, err error) error {
	if errors.Is(err, store.ErrNotFound) && !errors.Is(err, errNoShard) {
		s.leave(name)
	}
	return err
}

// MakeFlow implements store.Queue.
func (s *Store) MakeFlow(ctx context.Context, name string, shards []store.Shard) (err error) {
	defer driver.Wrap(&err, "make flow %q", name)
	if err := store.CheckFlow(name, shards); err != nil {
		return err
	}
	f, err := s.open(ctx, name, true)
	if err != nil {
		return err
	}
	out, err := f.decide(ctx, operation{ID: s.id(), Kind: opMake, Make: shards}, nil)
	return errors.Join(err, out.err)
}

// DropFlow implements store.Queue. Where a log may be there after it was removed, the last record says that it was
// dropped.
func (s *Store) DropFlow(ctx context.Context, name string) (err error) {
	defer driver.Wrap(&err, "drop flow %q", name)
	if s.journals.Removes() {
		s.leave(name)
		return s.journals.DropJournal(ctx, name)
	}
	f, err := s.open(ctx, name, false)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := f.decide(ctx, operation{ID: s.id(), Kind: opDrop}, nil); err != nil &&
		!errors.Is(err, store.ErrNotFound) {
		return err
	}
	f.forgetAll(ctx)
	s.leave(name)
	return s.journals.DropJournal(ctx, name)
}

// leave forgets a flow. Who asks for it opens its log again.
func (s *Store) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flows, name)
}

// Depth implements store.Queue.
func (s *Store) Depth(ctx context.Context, name string, shards ...store.Shard) ([]store.Depth, error) {
	all, err := s.depth(ctx, name, shards)
	if err != nil {
		return nil, fmt.Errorf("depth of flow %q: %w", name, s.gone(name, err))
	}
	return all, nil
}

func (s *Store) depth(ctx context.Context, name string, shards []store.Shard) ([]store.Depth, error) {
	f, err := s.open(ctx, name, false)
	if err != nil {
		return nil, err
	}
	if err := f.refresh(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.state.made || f.state.dropped {
		return nil, fmt.Errorf("the flow: %w", store.ErrNotFound)
	}
	if len(shards) == 0 {
		shards = f.state.order
	}
	out := make([]store.Depth, 0, len(shards))
	for _, shard := range shards {
		i, err := f.state.find(shard)
		if err != nil {
			return nil, err
		}
		out = append(out, f.state.depth(i))
	}
	return out, nil
}

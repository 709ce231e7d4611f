package logdocs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// Log is the log under the documents.
type Log interface {
	store.Log
	store.LogWatcher
}

// Options of [New]. Handles on one log may use different ones.
type Options struct {
	// SnapshotEvery is the number of records after which a handle saves all documents, and trims all but the last so many records; default 10,000.
	SnapshotEvery int
	// Confirm makes Get append a mark first: for logs whose end may be reported by a replaced leader.
	Confirm bool
	// ReadOnly refuses all changes. Get has no confirmation then.
	ReadOnly bool
	// Timeout bounds background work: reading for watches, saving snapshots; default 1 minute.
	Timeout time.Duration
	// Logger gets errors that no call can return; default: discard.
	Logger *slog.Logger
}

// Validate returns every fault of the options.
func (o Options) Validate() error {
	var errs []error
	if o.SnapshotEvery < 0 {
		errs = append(errs, fmt.Errorf("SnapshotEvery is %d: give at least 1, or 0 for the default", o.SnapshotEvery))
	}
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("the timeout %v is negative", o.Timeout))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, 10_000)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Confirm = o.Confirm && !o.ReadOnly
	return o
}

var (
	_ store.Docs    = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
)

// Store holds documents in a log. It is safe for concurrent use.
type Store struct {
	log  Log
	o    Options
	name string // random: begins the names that this handle gives
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	wg      sync.WaitGroup
	state   state
	began   bool // the newest snapshot was looked for
	names   uint64
	waits   map[string]chan outcome // by the names of operations whose author waits
	next    *round                  // one that has not begun
	running bool                    // somebody goes through the rounds
	saving  bool                    // a snapshot
	due     bool                    // another one, of what came meanwhile
	watches map[*watch]struct{}
	tail    context.CancelFunc // ends the goroutine that reads for watches; nil: there is none
}

// New returns documents in a log. It sends no request, and does not close the log.
func New(log Log, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("make documents of a log: %w", err)
	}
	life, end := context.WithCancel(context.Background())
	return &Store{
		log: log, o: o.withDefaults(), name: rand.Text()[:16], life: life, end: end, state: newState(),
		waits: make(map[string]chan outcome), watches: make(map[*watch]struct{}),
	}, nil
}

// Close ends all watches. Later calls return store.ErrClosed. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.endWatches()
	s.wg.Wait()
	return nil
}

// begin runs f on a goroutine that Close waits for; false where the store is closed. s.mu is held.
func (s *Store) begin(f func()) bool {
	if s.closed {
		return false
	}
	s.wg.Go(f)
	return true
}

func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return nil
}

// Skipped is the number of records seen by this handle that are not operations.
func (s *Store) Skipped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.skipped
}

// Get implements store.Docs.
func (s *Store) Get(ctx context.Context, key string) (_ store.Doc, err error) {
	defer driver.Wrap(&err, "get %q", key)
	if err := store.CheckKey(key); err != nil {
		return store.Doc{}, err
	}
	if err := s.catchUp(ctx, s.o.Confirm); err != nil {
		return store.Doc{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.get(key)
}

// List implements store.Docs. It reads to the end of the log as known without confirmation.
func (s *Store) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	if err := s.catchUp(ctx, false); err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.list(prefix), nil
}

// Put implements store.Docs.
func (s *Store) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	index, err := s.change(ctx, kindPut, d.Key, d.Version, d.Value)
	if err != nil {
		return "", fmt.Errorf("put %q: %w", d.Key, err)
	}
	return version(index), nil
}

// Delete implements store.Docs.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) error {
	if _, err := s.change(ctx, kindDelete, key, v, nil); err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	return nil
}

// newName is a name that nobody else gives. s.mu is held.
func (s *Store) newName() string {
	s.names++
	return fmt.Sprintf("%s.%d", s.name, s.names)
}

// change appends an operation, and returns what was decided about it.
func (s *Store) change(ctx context.Context, k kind, key string, v store.Version, value []byte) (uint64, error) {
	if err := store.CheckKey(key); err != nil {
		return 0, err
	}
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	if s.o.ReadOnly {
		return 0, store.ErrReadOnly
	}
	if !s.hasBegun() { // with a snapshot, which must not be newer than the change: it does not say what became of it
		if err := s.catchUp(ctx, false); err != nil {
			return 0, err
		}
	}
	expect, ok := indexOf(v)
	if !ok || k == kindDelete && expect == 0 {
		expect = never
	}
	o := op{kind: k, key: key, expect: expect, value: value}
	s.mu.Lock()
	o.name = s.newName()
	decided := make(chan outcome, 1)
	s.waits[o.name] = decided
	s.mu.Unlock()
	defer s.forget(o.name)
	_, lost := s.log.Append(ctx, o.encode())
	if lost != nil && !errors.Is(lost, store.ErrUnknown) {
		return 0, lost
	}
	err := s.catchUp(ctx, false)
	select {
	case out := <-decided:
		return out.version, out.err
	default:
	}
	switch {
	case lost != nil:
		return 0, lost
	case err != nil:
		return 0, unknown(err)
	}
	return 0, fmt.Errorf("%w: the log was trimmed past the change while this handle read it", store.ErrUnknown)
}

// never is a version that no document has: the operation decides between a conflict and a document that is not there.
const never = 1<<64 - 1

func (s *Store) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waits, name)
}

// unknown says that a change may have been done, and why nobody can tell.
func unknown(why error) error {
	if errors.Is(why, store.ErrUnknown) {
		return why
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, why)
}

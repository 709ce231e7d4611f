package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

var (
	_ store.Store      = (*Store)(nil)
	_ store.Docs       = (*Store)(nil)
	_ store.GetMany    = (*Store)(nil)
	_ store.Log        = (*Store)(nil)
	_ store.Watcher    = (*Store)(nil)
	_ store.LogWatcher = (*Store)(nil)
	_ store.Seeder     = (*Store)(nil)
	_ store.Sessions   = (*Store)(nil)
)

// The maximum sizes; above them, calls return ErrTooLarge.
const (
	MaxRecord   = 16 << 20  // bytes of a document or of a record of the log
	MaxSnapshot = 256 << 20 // bytes of a snapshot
)

// closePatience is how long Close waits for its last turn to write.
const closePatience = 2 * time.Second

// Store is one handle on the directory. It is safe for concurrent use.
type Store struct {
	dir     string
	options Options
	log     *slog.Logger
	root    *os.Root
	home    home
	writes  *sql.DB // nil for an observer
	reads   *sql.DB
	asks    asks // of reads
	turn    *turn
	bell    *bell
	writer  *writer // nil for an observer
	notice  *notifier

	mu       sync.Mutex
	closed   bool
	inside   sync.WaitGroup // calls that read; Add only with mu held and not closed
	seat     *os.File       // nil until this handle has sessions
	sessions map[*session]struct{}
	burying  map[string]bool // sessions whose documents are about to be removed
}

// enter lets a call in, or says why not. After a nil error the call must end with s.inside.Done().
func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	moved := s.home.there()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return store.ErrClosed
	case moved != nil:
		return moved
	}
	s.inside.Add(1)
	return nil
}

// change runs a change in the writer's next transaction.
func (s *Store) change(ctx context.Context, size int, run func(tx *tx) error) error {
	return s.do(ctx, newOp(size, run))
}

func (s *Store) do(ctx context.Context, o *op) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.inside.Done()
	if s.writer == nil {
		return store.ErrReadOnly
	}
	return s.writer.do(ctx, o)
}

// wrap adds the place to an error.
func (s *Store) wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in %s: %w", fmt.Sprintf(format, args...), s.dir, err)
}

// Close implements store.Store. Sessions of this handle end at once. Their documents are removed by this process if it gets its
// turn to write soon, else by any process that reads them. A second call does nothing.
func (s *Store) Close() error {
	open, first := s.shut()
	if !first {
		return nil
	}
	for _, session := range open {
		session.end()
	}
	if s.writer != nil {
		s.stopWriter()
	}
	s.notice.stop()
	s.inside.Wait()
	return s.wrap(s.free(), "close store")
}

// shut lets no more calls in and returns the sessions that were open.
func (s *Store) shut() (open []*session, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.closed
	s.closed = true
	for session := range s.sessions {
		open = append(open, session)
	}
	return open, first
}

func (s *Store) stopWriter() {
	close(s.writer.closing)
	patience := time.AfterFunc(closePatience, func() { s.writer.abandon(store.ErrClosed) })
	<-s.writer.finished
	patience.Stop()
	s.writer.abandon(store.ErrClosed)
}

// free closes all files that are open; nil fields are not open yet.
func (s *Store) free() error {
	var errs []error
	if s.writer != nil {
		errs = append(errs, s.writer.tx.close())
	}
	errs = append(errs, s.asks.close())
	for _, db := range []*sql.DB{s.reads, s.writes} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.turn != nil {
		errs = append(errs, s.turn.close())
	}
	if s.seat != nil {
		errs = append(errs, s.seat.Close())
	}
	if s.bell != nil {
		errs = append(errs, s.bell.close())
	}
	return errors.Join(append(errs, s.root.Close())...)
}

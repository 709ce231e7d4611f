package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// Options of [Open]. The zero value is right for a member.
type Options struct {
	// MustExist refuses a directory without a store, instead of creating one.
	MustExist bool
	// ReadOnly opens the store read-only: it implies MustExist, and every change is refused.
	ReadOnly bool
	// AllowAnyFS also opens on file systems that are refused by default, such as NFS and FUSE. Set it only if you know
	// that flock and shared memory maps work there between all processes that use the store.
	AllowAnyFS bool
	// AllowShared also opens a directory that other users may enter, which is refused by default with [ErrShared]. The
	// files are still private to the owner, as far as the file system has modes; but anyone who may write to the
	// directory can replace them.
	AllowShared bool
	// Processes is how many handles may have sessions at a time, the same number for all; default MaxProcesses. More
	// need more processors.
	Processes int
	// Logger gets the repairs of the store; default: discard.
	Logger *slog.Logger

	maxPages int64                 // tests: the database may not grow beyond; 0: no bound
	guard    time.Duration         // tests: how often to look without a file event
	busy     time.Duration         // tests: how long to wait for another program that locks the database
	noEvents bool                  // tests: as if the kernel had no file events
	frozen   func(dir string) bool // tests: whether the file system takes no writes
}

// The polling interval while there are watches. Waking up costs more than the work, so all work is done at once: the
// bell is read, in case a file event was lost, and the locks of sessions are tried.
const (
	guardEvery   = 45 * time.Millisecond
	versionEvery = 20 // looks: the database is asked, in case somebody died between commit and bell
)

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Processes = cmp.Or(max(o.Processes, 0), MaxProcesses)
	o.guard = cmp.Or(o.guard, guardEvery)
	o.busy = cmp.Or(o.busy, 5*time.Second)
	o.MustExist = o.MustExist || o.ReadOnly
	if o.frozen == nil {
		o.frozen = takesNoWrites
	}
	return o
}

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

// Open opens the store in dir, and creates it if it does not exist and the options allow that. An error says what
// failed, where, and what to try; then nothing is left open. ctx bounds only Open.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	d, err := open(ctx, dir, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open file store in %s: %w", cmp.Or(dir, `""`), err)
	}
	h := full.NewVigilant(&rows{d}, full.Options{Place: d.dir, ReadOnly: o.ReadOnly, Logger: d.log})
	return &Store{h, d}, nil
}

// TakeSeat makes this handle one of those that may have sessions, until it is closed or its process ends. OpenSession
// does so too.
func (s *Store) TakeSeat() error { return s.disk.wrap(s.disk.takeSeat(), "take part") }

// home is the database file that the handle has opened. A directory that is moved, or removed and made again, takes its
// open files with it: members that run would go on there, and new ones would meet at the path, as two clusters.
type home struct {
	path string
	was  os.FileInfo
}

func newHome(dir string) (home, error) {
	h := home{path: filepath.Join(dir, dbName)}
	var err error
	if h.was, err = os.Stat(h.path); err != nil {
		return home{}, hinted(err)
	}
	return h, nil
}

// there says why the handle must not be used while another file, or none, is at its path; nil if all is well. Moving
// the directory back mends it.
func (h home) there() error {
	now, err := os.Stat(h.path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the store was moved or removed, or cannot be looked at: %w (move it back, or restart all members on its new path)", store.ErrUnavailable, err)
	case !os.SameFile(h.was, now):
		return fmt.Errorf("%w: another store is at its path now (put this one back, or restart all members on one path)", store.ErrUnavailable)
	}
	return nil
}

// ErrDamaged marks data that exists but is wrong. Retrying does not help: restore a copy, or repair the database.
var ErrDamaged = log.ErrDamaged

// refusal is an error of one call that says nothing about the others in its transaction: nothing was changed by it.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refuse(err error) error { return refusal{err} }

// code is the primary SQLite result code in err, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// classify gives an error of the database, of a transaction that is not committed, its meaning for callers.
func classify(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		return fmt.Errorf("%w: %w (restore a copy of the directory, or try `sqlite3 rota.db .recover`)", ErrDamaged,
			err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: no space left, free some: %w", store.ErrUnavailable, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: not allowed to write, check the owner, or copy a directory that is read-only elsewhere: %w",
			store.ErrUnavailable, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("%w: another program holds the database: %w", store.ErrUnavailable, err)
	case sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	}
	if errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// classifyCommit is classify for a commit that was refused. Where the last frame could not be written it is not done.
// But where only the confirmation of the disk is missing, the frame may be found, whole, by who opens the database
// next.
func classifyCommit(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY:
		return classify(err)
	}
	return fmt.Errorf("%w: commit: %w", store.ErrUnknown, err)
}

// readError gives an error of a read its meaning.
func readError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrTruncated):
		return err
	}
	return classify(err)
}

// hinted adds what to try to an error of opening files.
func hinted(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (try as the owner of the directory, or give another directory)", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w (give a directory on a file system that can be written)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w (free some space, or give a directory on another disk)", err)
	}
	return err
}

package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/log"
)

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
		return fmt.Errorf("%w: not allowed to write, check the owner and whether the file system is read-only: %w",
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

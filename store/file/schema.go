package file

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"

	_ "modernc.org/sqlite"
)

// These values mark the database as ours.
const (
	applicationID = 0x726f7461 // "rota"
	format        = 3          // PRAGMA user_version; grows when an older program could not read it
)

// A record's sum covers its index, a row's its key, name and session; see sum.go. The newest row of a log always stays,
// emptied when it is trimmed, so that an index is never given twice without a counter that each append would have to
// write.
var schema = []string{
	`CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, trimmed INTEGER NOT NULL)`,
	`INSERT INTO logs VALUES (0, 'main', 0)`,
	`CREATE TABLE log (idx INTEGER PRIMARY KEY, sum INTEGER NOT NULL, data BLOB NOT NULL)`,
	`PRAGMA application_id = ` + strconv.Itoa(applicationID),
	`PRAGMA user_version = ` + strconv.Itoa(format),
	`CREATE TABLE docs (key TEXT PRIMARY KEY, name TEXT NOT NULL, sess TEXT NOT NULL, sum INTEGER NOT NULL, value BLOB NOT NULL)`,
	`CREATE INDEX docs_sess ON docs (sess) WHERE sess <> ''`,
}

// openDB opens the database; mode is SQLite's rw or ro, and what else an address may say of it. SQLite itself
// would make the file with a mode that the umask decides.
func openDB(dir, mode string, o Options) (*sql.DB, error) {
	path, err := filepath.Abs(filepath.Join(dir, dbName))
	if err != nil {
		return nil, err
	}
	query := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", o.busy.Milliseconds()),
		"synchronous(full)"}}
	uri := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=" + mode + "&" + query.Encode()}
	return sql.Open("sqlite", uri.String())
}

// identify reports whether the database is ours, still empty, or nothing that we may touch. It reads all that at one
// moment: another process may be making the tables.
func identify(ctx context.Context, c *sql.Conn) (empty bool, err error) {
	tx, err := c.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return false, describeOpen(err)
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	var app, version, objects int64
	for _, ask := range []struct {
		query string
		to    *int64
	}{{"PRAGMA application_id", &app}, {"PRAGMA user_version", &version},
		{"SELECT count(*) FROM sqlite_schema", &objects}} {
		if err := tx.QueryRowContext(ctx, ask.query).Scan(ask.to); err != nil {
			return false, describeOpen(err)
		}
	}
	switch {
	case app == 0 && version == 0 && objects == 0:
		return true, nil
	case app != applicationID:
		return false, fmt.Errorf("%s is a database of another program (application id %#x): give another directory",
			dbName, app)
	case version > format:
		return false, fmt.Errorf("%s has format %d, this program knows up to %d: use a newer version of this program",
			dbName, version, format)
	case version < 1:
		return false, fmt.Errorf("%s has format %d, which never was: %w", dbName, version, ErrDamaged)
	case version < format:
		return false, fmt.Errorf("%s has format %d, which only earlier versions of this program read: "+
			"give another directory, and submit the jobs again", dbName, version)
	}
	return false, nil
}

func describeOpen(err error) error {
	return fmt.Errorf("%s cannot be read as a database: %w", dbName, classify(err))
}

// prepare sets the durable properties of an empty database, and makes its tables. Who calls it holds the turn.
func prepare(ctx context.Context, c *sql.Conn) error {
	setup := append([]string{"PRAGMA auto_vacuum = incremental", "PRAGMA journal_mode = wal", "BEGIN IMMEDIATE"},
		schema...)
	for _, statement := range append(setup, "COMMIT") {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make tables: %w", classify(err))
		}
	}
	return nil
}

// tune sets what belongs to the connection that writes.
func tune(ctx context.Context, c *sql.Conn, o Options) error {
	settings := []string{"PRAGMA journal_size_limit = 67108864"}
	if o.maxPages > 0 {
		settings = append(settings, fmt.Sprintf("PRAGMA max_page_count = %d", o.maxPages))
	}
	for _, statement := range settings {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, classify(err))
		}
	}
	return nil
}

// preparer is a database, or one connection to it.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements are prepared once for each text, and stay until close. There are few texts. Its methods may be called from
// any goroutine.
type statements struct {
	from preparer
	mu   sync.Mutex
	of   map[string]*sql.Stmt
}

// get prepares a text that it has not met. ctx bounds only that.
func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.of[text]; ok {
		return known, nil
	}
	made, err := s.from.PrepareContext(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	if s.of == nil {
		s.of = make(map[string]*sql.Stmt)
	}
	s.of[text] = made
	return made, nil
}

func (s *statements) rows(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	made, err := s.get(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	return made.QueryContext(ctx, args...)
}

// row reads one row; sql.ErrNoRows if there is none.
func (s *statements) row(ctx context.Context, text string, args, to []any) error {
	made, err := s.get(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return err
	}
	return made.QueryRowContext(ctx, args...).Scan(to...)
}

// close closes them all. One that is left open would keep the database's files open, without an error.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, known := range s.of {
		errs = append(errs, known.Close())
	}
	s.of = nil
	return errors.Join(errs...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordSum is the checksum of a record or snapshot. Its index is part of it, so that a misplaced one is noticed too,
// in a way that SQL can compute: an append learns its index in the same statement.
func recordSum(index uint64, data []byte) int64 {
	return int64(index%(1<<31))<<32 + dataSum(data)
}

func dataSum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// docSum is the checksum of a row.
func docSum(key, name, session string, value []byte) int64 {
	head := key + "\x00" + name + "\x00" + session + "\x00"
	return int64(crc32.Update(crc32.Checksum([]byte(head), castagnoli), castagnoli, value))
}

func unique() string {
	var b [15]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

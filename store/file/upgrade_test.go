package file

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/store"
)

// formerDirectory makes a directory of format 1: two records are trimmed, and the newest of two snapshots is damaged.
func formerDirectory(t *testing.T) string {
	t.Helper()
	dir := place(t)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, bellName), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	execute(t, dir, `PRAGMA journal_mode = wal`,
		`CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), trimmed INTEGER NOT NULL)`,
		`INSERT INTO meta VALUES (1, 2)`,
		`CREATE TABLE log (idx INTEGER PRIMARY KEY, sum INTEGER NOT NULL, data BLOB NOT NULL)`,
		`CREATE TABLE snapshots (idx INTEGER PRIMARY KEY, sum INTEGER NOT NULL, data BLOB NOT NULL)`,
		`CREATE TABLE docs (key TEXT PRIMARY KEY, ver TEXT NOT NULL, sess TEXT NOT NULL, sum INTEGER NOT NULL,
			value BLOB NOT NULL) WITHOUT ROWID`,
		`CREATE INDEX docs_sess ON docs (sess) WHERE sess <> ''`,
		`PRAGMA application_id = 0x726f7461`, `PRAGMA user_version = 1`)
	db, err := sql.Open("sqlite", filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	insert := func(text string, args ...any) {
		t.Helper()
		executeIn(t, db, text, args...)
	}
	insert(`INSERT INTO log VALUES (3, ?, ?)`, recordSum(3, []byte("three")), []byte("three"))
	insert(`INSERT INTO snapshots VALUES (2, ?, ?)`, recordSum(2, []byte("state")), []byte("state"))
	insert(`INSERT INTO snapshots VALUES (3, 0, ?)`, []byte("damaged"))
	sum := docSum("position/a", "v1", "", []byte("x"))
	insert(`INSERT INTO docs VALUES ('position/a', 'v1', '', ?, ?)`, sum, []byte("x"))
	insert(`INSERT INTO docs VALUES ('pulse/a', 'v2', 'gone', 0, ?)`, []byte("x"))
	return dir
}

// TestFormerFormat: who only looks at a directory of format 1 is told what to do; a member converts it, and leaves none
// of it behind.
func TestFormerFormat(t *testing.T) {
	t.Parallel()
	dir, ctx := formerDirectory(t), deadline(t)
	if _, err := Open(ctx, dir, Options{ReadOnly: true}); !errors.Is(err, errFormer) {
		t.Fatalf("an observer gets %v", err)
	}
	for range 2 { // the second finds it converted
		s := openIn(t, dir, Options{})
		if d, err := s.Get(ctx, "position/a"); err != nil || string(d.Value) != "x" || d.Version != "v1" {
			t.Errorf("document %+v, %v", d, err)
		}
		if docs, err := s.List(ctx, ""); err != nil || len(docs) != 1 {
			t.Errorf("%d documents, %v; want the one that no session had", len(docs), err)
		}
		if r, err := s.Snapshot(ctx); err != nil || r.Index != 2 || string(r.Data) != "state" {
			t.Errorf("snapshot %d %q, %v", r.Index, r.Data, err)
		}
		if _, err := s.Read(ctx, 1, 9); !errors.Is(err, store.ErrTruncated) {
			t.Errorf("read of what was trimmed: %v", err)
		}
		if page, err := s.Read(ctx, 2, 9); err != nil || len(page.Records) != 1 || page.Head != 3 {
			t.Errorf("log %+v, %v", page, err)
		}
		if n := count(t, s, `SELECT count(*) FROM sqlite_schema WHERE name IN ('snapshots', 'docs_sess')`); n != 1 {
			t.Errorf("%d of a table that is gone and an index that is there", n)
		}
	}
	s := openIn(t, dir, Options{})
	if index, err := s.Append(ctx, []byte("four")); err != nil || index != 4 {
		t.Errorf("append: %d, %v", index, err)
	}
}

package file

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

func count(t *testing.T, s *Store, query string) (n int64) {
	t.Helper()
	if err := s.reads.QueryRowContext(deadline(t), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func sessionFiles(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	return must.Get(os.ReadDir(filepath.Join(dir, sessionsDir)))(t)
}

// execute runs SQL on the database of a store that nobody has open.
func execute(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db := must.Get(sql.Open("sqlite", filepath.Join(dir, dbName)))(t)
	defer db.Close()
	for _, statement := range statements {
		executeIn(t, db, statement)
	}
}

func executeIn(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func closed(t *testing.T, dir string) {
	t.Helper()
	s := must.Get(Open(deadline(t), dir, Options{}))(t)
	must.Succeed(t, s.Close())
}

func TestOpenMakesTheDirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "a/b/c", "with space?x=1&y#z%41;ä", ":memory:"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			if name == "plain" { // a crash has left half of one
				must.Succeed(t, errors.Join(os.Mkdir(dir, dirMode),
					os.WriteFile(filepath.Join(dir, dbName+".new"), []byte(strings.Repeat("x", 9999)), fileMode)))
			}
			s := openIn(t, dir, Options{})
			must.Succeed(t, must.Err(s.Append(deadline(t), []byte("x"))))
			must.Succeed(t, must.Err(os.Stat(filepath.Join(dir, dbName))))
		})
	}
}

func TestDurableSettings(t *testing.T) {
	t.Parallel()
	s := openIn(t, place(t), Options{})
	if got := count(t, s, "PRAGMA auto_vacuum"); got != 2 {
		t.Errorf("auto_vacuum %d, want 2 (incremental)", got)
	}
	var mode, sync string
	if err := s.writer.tx.conn.QueryRowContext(deadline(t), "PRAGMA journal_mode").Scan(&mode); err != nil ||
		mode != "wal" {
		t.Errorf("journal_mode %q, %v; want wal", mode, err)
	}
	for _, light := range []bool{false, true, false} { // the disk is waited for again after a lease
		must.Succeed(t, must.Err(journal{s.disk, 0}.AppendWith(deadline(t), nil, light, nil)))
		want := map[bool]string{false: "2", true: "1"}[light]
		if err := s.writer.tx.conn.QueryRowContext(deadline(t), "PRAGMA synchronous").Scan(&sync); err != nil ||
			sync != want {
			t.Errorf("synchronous %q, %v; want %s", sync, err, want)
		}
	}
}

func TestObserverMakesNothing(t *testing.T) {
	t.Parallel()
	dir := place(t)
	for _, o := range []Options{{ReadOnly: true}, {MustExist: true}} {
		if _, err := Open(deadline(t), dir, o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
			t.Errorf("open with %+v: %v, want not exist, naming the directory", o, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after open with %+v: stat says %v, want not exist", o, err)
		}
	}
}

func TestObserver(t *testing.T) {
	t.Parallel()
	dir, ctx := place(t), deadline(t)
	member := openIn(t, dir, Options{})
	observer := openIn(t, dir, Options{ReadOnly: true})
	hints := must.Get(observer.WatchLog(ctx))(t)
	<-hints
	must.Succeed(t, must.Err(member.Append(ctx, []byte("x"))))
	<-hints
	if page, err := observer.Read(ctx, 0, 10); err != nil || len(page.Records) != 1 {
		t.Fatalf("read: %v, %v", page, err)
	}
	if _, err := observer.Append(ctx, nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("append by an observer: %v, want %v", err, store.ErrReadOnly)
	}
	must.Succeed(t, errors.Join(observer.Close(), member.Close(), os.Remove(filepath.Join(dir, turnName))))
	observer = openIn(t, dir, Options{ReadOnly: true})
	if got, err := records(t, observer), must.Err(observer.bell.renewed()); len(got) != 1 || err != nil {
		t.Fatalf("an observer alone reads %q, want one; %v", got, err)
	}
	must.Succeed(t, os.Remove(filepath.Join(dir, bellName)))
	if s, err := Open(ctx, dir, Options{ReadOnly: true}); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "(restore all of them") {
		t.Errorf("without its other files: %v, %v", s, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"foreign database", func(t *testing.T, dir string) { execute(t, dir, "CREATE TABLE theirs (x)") },
			"another program"},
		{"foreign application id", func(t *testing.T, dir string) { execute(t, dir, "PRAGMA application_id = 7") },
			"another program"},
		{"newer format", func(t *testing.T, dir string) { closed(t, dir); execute(t, dir, "PRAGMA user_version = 4") },
			"newer version"},
		{"former format", func(t *testing.T, dir string) { closed(t, dir); execute(t, dir, "PRAGMA user_version = 2") },
			"submit the jobs again"},
		{"no database", func(t *testing.T, dir string) { write(t, dir, []byte(strings.Repeat("hello ", 1000))) },
			"cannot be read as a database"},
		{"damaged header", func(t *testing.T, dir string) { closed(t, dir); overwrite(t, dir, 0, 100) },
			"cannot be read as a database"},
		{"damaged schema", func(t *testing.T, dir string) { closed(t, dir); overwrite(t, dir, 100, 4096) }, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			must.Succeed(t, os.Mkdir(dir, 0o700))
			c.make(t, dir)
			for _, o := range []Options{{}, {ReadOnly: true}} {
				s, err := Open(deadline(t), dir, o)
				if err == nil {
					s.Close()
					t.Fatalf("opened with %+v", o)
				}
				if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
					t.Errorf("error %q, want it to say %q and the directory", err, c.want)
				}
				t.Log(err)
			}
		})
	}
}

func write(t *testing.T, dir string, data []byte) {
	t.Helper()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, dbName), data, 0o600))
}

func overwrite(t *testing.T, dir string, from, to int) {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, dbName)))(t)
	for i := from; i < to; i++ {
		data[i] = 0xaa
	}
	write(t, dir, data)
}

func TestOpenOnAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := syncDir(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that cannot be made durable: %v", err)
	}
	must.Succeed(t, os.WriteFile(path, nil, 0o600))
	for _, dir := range []string{path, filepath.Join(path, "below")} {
		for _, o := range []Options{{}, {MustExist: true}} {
			if _, err := Open(deadline(t), dir, o); err == nil || !errors.Is(err, syscall.ENOTDIR) &&
				!strings.Contains(err.Error(), "is a file: give a directory") {
				t.Errorf("opened in %s with %+v: %v", dir, o, err)
			}
		}
	}
}

// TestNoDirectory: an empty name makes no store in the working directory, not even in a private one.
func TestNoDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Succeed(t, os.Chmod(".", 0o700))
	for _, o := range []Options{{}, {MustExist: true}, {ReadOnly: true}} {
		if _, err := Open(deadline(t), "", o); err == nil || !strings.Contains(err.Error(), `in "": no directory is named`) {
			t.Errorf("opened with %+v: %v", o, err)
		}
	}
	if all := must.Get(os.ReadDir("."))(t); len(all) > 0 {
		t.Errorf("it has made %v", all)
	}
}

// Open waits for its turn no longer than ctx, and makes nothing with one that has ended.
func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	dir, cause := place(t), errors.New("no more time")
	s := openIn(t, dir, Options{})
	holdTurn(t, s)
	ctx, cancel := context.WithCancelCause(context.Background())
	done := begun(func() error { return must.Err(Open(ctx, dir, Options{})) })
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Fatalf("open: %v, want %v", err, cause)
	}
	dir = place(t)
	if err := must.Err(Open(ctx, dir, Options{})); !errors.Is(err, cause) {
		t.Errorf("open: %v, want %v", err, cause)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a cancelled open made the directory")
	}
}

// A process that looks while another one makes the store sees none, or all of it.
func TestOpenWhileItIsMade(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	for range 20 {
		dir := place(t)
		made := make(chan error, 1)
		go func() {
			s, err := Open(ctx, dir, Options{})
			if err == nil {
				err = s.Close()
			}
			made <- err
		}()
		for opened := false; !opened; {
			s, err := Open(ctx, dir, Options{ReadOnly: true})
			if opened = err == nil; opened {
				err = s.Close()
			}
			if err != nil && !notMadeYet(err) {
				t.Fatal(err)
			}
		}
		must.Succeed(t, <-made)
	}
}

// notMadeYet tells whether an observer found no database, or one without tables.
func notMadeYet(err error) bool {
	return errors.Is(err, fs.ErrNotExist) ||
		strings.HasSuffix(err.Error(), "rota.db is empty: no member has used it yet")
}

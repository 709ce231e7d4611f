//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// busyStore has all files that a store can have: a journal, and the lock of a session.
func busyStore(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, ctx := openIn(t, dir, o), deadline(t)
	session := must.Get(s.OpenSession(ctx, time.Minute))(t)
	_, putErr := session.Put(ctx, store.Doc{Key: "a/b"})
	_, appendErr := s.Append(ctx, []byte("x"))
	must.Succeed(t, errors.Join(putErr, appendErr, s.SaveSnapshot(ctx, store.Record{Index: 1})))
	return s
}

// checkModes looks at the modes of all files below a directory.
func checkModes(t *testing.T, dir string, own fs.FileMode) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		switch {
		case path == dir:
			want = own
		case entry.IsDir():
			want = 0o700
		default:
			seen++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
		return nil
	})
	if err != nil || seen != 8 {
		t.Errorf("%d files, %v; want rota.db, -wal, -shm, bell, two locks of writers, that of a session and a seat",
			seen, err)
	}
}

// TestPrivate: what a store makes is for its owner alone, though the umask of these tests is 0.
func TestPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(place(t), "a", "b")
	busyStore(t, dir, Options{})
	checkModes(t, dir, 0o700)
	checkModes(t, filepath.Dir(filepath.Dir(dir)), 0o700)
}

// TestSharedDirectory: a directory that others may enter is refused to members, clients and observers, until it is
// closed to them or allowed.
func TestSharedDirectory(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o755, 0o750, 0o770, 0o707, 0o711, 0o701, 0o720} {
		dir := place(t)
		busyStore(t, dir, Options{}).Close()
		must.Succeed(t, os.Chmod(dir, mode))
		for _, o := range []Options{{}, {MustExist: true}, {ReadOnly: true}} {
			s, err := Open(deadline(t), dir, o)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, ErrShared) || !strings.Contains(err.Error(), dir) {
				t.Errorf("open a directory of mode %04o: %v, want it refused and named", mode, err)
			}
		}
		busyStore(t, dir, Options{AllowShared: true})
		checkModes(t, dir, mode)
		openIn(t, dir, Options{AllowShared: true, ReadOnly: true})
	}
}

// TestRefusedDirectoryIsUntouched: nothing is made in a directory that is refused.
func TestRefusedDirectoryIsUntouched(t *testing.T) {
	t.Parallel()
	dir := place(t)
	must.Succeed(t, os.Mkdir(dir, 0o755))
	if _, err := Open(deadline(t), dir, Options{}); !errors.Is(err, ErrShared) {
		t.Errorf("open: %v, want %v", err, ErrShared)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it has %v, %v; want nothing", entries, err)
	}
}

// TestOlderFilesAreNarrowed: a store of an earlier version had files that others may read; a member closes them, also
// beside one that is at work.
func TestOlderFilesAreNarrowed(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := busyStore(t, dir, Options{})
	for _, name := range []string{dbName, dbName + "-wal", dbName + "-shm", bellName, queueName, turnName} {
		must.Succeed(t, os.Chmod(filepath.Join(dir, name), 0o666))
	}
	must.Succeed(t, os.Chmod(filepath.Join(dir, sessionsDir), 0o777))
	other := openIn(t, dir, Options{})
	checkModes(t, dir, 0o700)
	for _, h := range []*Store{s, other} {
		if _, err := h.Append(deadline(t), []byte("y")); err != nil {
			t.Error(err)
		}
	}
	if got := records(t, s); len(got) != 3 {
		t.Errorf("records %q, want three", got)
	}
}

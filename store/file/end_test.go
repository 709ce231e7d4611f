//go:build unix

package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/store"
)

// A copy of the lock file keeps the session: a guardian ends what its member has started before others hear of the death.
func TestACopyOfTheLockFileKeepsTheSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	open := func() *Store {
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	a, b := open(), open()
	opened, err := a.OpenSession(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	key := s.EndKey()
	if key.Text != "" || key.File == nil {
		t.Fatalf("the key is %+v", key)
	}
	fd, err := unix.Dup(int(key.File.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	kept := os.NewFile(uintptr(fd), "copy")
	if err := s.file.Close(); err != nil { // as the kernel does when the process dies
		t.Fatal(err)
	}
	if b.dead(s.id) {
		t.Error("the session is dead, and its lock file is open")
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	if !b.dead(s.id) {
		t.Error("the session is alive, and nobody holds its lock file open")
	}

	if opened, err = a.OpenSession(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	s = opened.(*session)
	if fd, err = unix.Dup(int(s.EndKey().File.Fd())); err != nil {
		t.Fatal(err)
	}
	kept = os.NewFile(uintptr(fd), "copy")
	defer func() { _ = kept.Close() }()
	if err := opened.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Put(t.Context(), store.Doc{Key: "x"}); !errors.Is(err, store.ErrSession) {
		t.Errorf("a write of a closed session: %v", err)
	}
	if !b.dead(s.id) {
		t.Error("Close left the session alive for the copy")
	}
}

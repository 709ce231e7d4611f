//go:build unix

package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// A copy of the lock file keeps the session: a guardian ends what its member has started before others hear of the death.
func TestACopyOfTheLockFileKeepsTheSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	a, b := openIn(t, dir, Options{}), openIn(t, dir, Options{})
	s, err := a.hold(t.Context())
	must.Succeed(t, err)
	key := s.EndKey()
	if key.Text != "" || key.File == nil {
		t.Fatalf("the key is %+v", key)
	}
	fd, err := unix.Dup(int(key.File.Fd()))
	must.Succeed(t, err)
	kept := os.NewFile(uintptr(fd), "copy")
	if err := s.file.Close(); err != nil { // as the kernel does when the process dies
		t.Fatal(err)
	}
	if b.ended(s.id) {
		t.Error("the session is dead, and its lock file is open")
	}
	must.Succeed(t, kept.Close())
	if !b.ended(s.id) {
		t.Error("the session is alive, and nobody holds its lock file open")
	}

	opened, err := a.OpenSession(t.Context(), time.Minute)
	must.Succeed(t, err)
	file := opened.(store.EndableSession).EndKey().File
	if fd, err = unix.Dup(int(file.Fd())); err != nil {
		t.Fatal(err)
	}
	kept = os.NewFile(uintptr(fd), "copy")
	defer func() { _ = kept.Close() }()
	must.Succeed(t, opened.Close(t.Context()))
	if _, err := opened.Put(t.Context(), store.Doc{Key: "x"}); !errors.Is(err, store.ErrSession) {
		t.Errorf("a write of a closed session: %v", err)
	}
	if id := strings.TrimSuffix(filepath.Base(file.Name()), ".new"); !b.ended(id) {
		t.Error("Close left the session alive for the copy")
	}
}

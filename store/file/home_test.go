package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// TestMovedDirectory: a handle whose directory was moved answers nothing and changes nothing, also when another store
// was made at its path; it goes on when the directory is back.
func TestMovedDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := must.Get(Open(deadline(t), dir, Options{}))(t)
	defer s.Close()
	observer := openIn(t, dir, Options{ReadOnly: true})
	must.Succeed(t, must.Err(s.Append(deadline(t), []byte("one"))))
	away := dir + ".away"
	rename := func(from, to string) {
		t.Helper()
		must.Succeed(t, os.Rename(from, to))
	}
	refused := func(says string) {
		t.Helper()
		_, wrote := s.Append(deadline(t), []byte("two"))
		_, read := s.Read(deadline(t), 0, 9)
		_, got := s.Get(deadline(t), "x")
		_, seen := observer.Get(deadline(t), "x")
		for _, err := range []error{wrote, read, got, seen} {
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %q", err, says)
			}
		}
	}
	rename(dir, away)
	refused("moved or removed")
	other := must.Get(Open(deadline(t), dir, Options{}))(t)
	refused("another store is at its path")
	must.Succeed(t, other.Close())
	rename(dir, dir+".other")
	rename(away, dir)
	page, err := s.Read(deadline(t), 0, 9)
	if err != nil || len(page.Records) != 1 || page.Head != 1 {
		t.Errorf("back: %+v, %v, want the one record", page, err)
	}
}

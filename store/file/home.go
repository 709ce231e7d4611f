package file

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rota-run/rota/store"
)

// home is the database file that the handle has opened. A directory that is moved, or removed and made again, takes its open files with it: members that
// run would go on there, and new ones would meet at the path, as two clusters.
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

// there says why the handle must not be used while another file, or none, is at its path; nil if all is well. Moving the directory back mends it.
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

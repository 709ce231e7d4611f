package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The names in the directory.
const (
	dbName      = "rota.db"
	queueName   = "queue.lock"
	turnName    = "turn.lock"
	bellName    = "bell"
	sessionsDir = "sessions"
)

// openDir finds or makes the directory and opens it.
func openDir(dir string, o Options) (*os.Root, error) {
	if err := runsHere(); err != nil {
		return nil, err
	}
	if o.MustExist {
		if err := mustExist(dir); err != nil {
			return nil, err
		}
	} else if err := makeDir(dir); err != nil {
		return nil, hinted(err)
	}
	if err := checkFS(dir); err != nil && !o.AllowAnyFS {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, hinted(err)
	}
	if err = private(root, o); err == nil && !o.ReadOnly {
		err = makeSessions(root, o)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func mustExist(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return isFile(dir)
	}
	_, err := os.Stat(filepath.Join(dir, dbName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store (no file %s): check the path, or start a member there first: %w", dbName, fs.ErrNotExist)
	}
	if err != nil {
		return hinted(err)
	}
	return nil
}

// makeDir makes the directory and the missing ones above it, for the owner alone, and sees that they survive a power cut.
func makeDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return isFile(dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	switch err := os.Mkdir(dir, dirMode); {
	case err == nil:
		if err := os.Chmod(dir, dirMode); err != nil { // a umask may have taken from it what the owner needs
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	return syncDir(parent)
}

func isFile(path string) error { return fmt.Errorf("%s is a file: give a directory", path) }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

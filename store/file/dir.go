package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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
		return fmt.Errorf("there is no store (no file %s): check the path, or start a member there first: %w", dbName,
			fs.ErrNotExist)
	}
	return hinted(err)
}

// makeDir makes the directory and the missing ones above it, for the owner alone, and sees that they survive a power
// cut.
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

// The modes of the directory and its files: only for their owner, whatever the umask is. A task may contain a literal
// password, and anyone who may open the database's files can block all members from writing with a lock.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// ErrShared marks a directory that users other than its owner may enter.
var ErrShared = errors.New("others may enter the directory")

// private refuses a directory that others than its owner may enter. It looks at the directory that is open, not at one
// that has its name by now.
func private(root *os.Root, o Options) error {
	info, err := root.Stat(".")
	if err != nil {
		return hinted(err)
	}
	if mode := info.Mode().Perm(); mode&^dirMode != 0 && !o.AllowShared {
		return fmt.Errorf("%w: its mode is %04o, and a store is for its owner alone (0700)", ErrShared, mode)
	}
	return nil
}

// makeSessions makes the directory of the lock files.
func makeSessions(root *os.Root, o Options) error {
	if err := root.Mkdir(sessionsDir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return hinted(err)
	}
	return narrow(root, sessionsDir, dirMode, o)
}

// openPrivate opens a file, and makes it if it is not there.
func openPrivate(root *os.Root, name string, flags int, o Options) (*os.File, error) {
	f, err := root.OpenFile(name, flags|os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, hinted(err)
	}
	if err := narrow(root, name, fileMode, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeDB makes the database's file, empty, if it is not there. The caller has the turn, so nobody else makes it. It
// gets its name only when it is closed here: closing a descriptor of rota.db would drop the locks that another handle
// of this process has on it. SQLite gives the files beside it the mode of this one; those of an older program are
// narrowed.
func makeDB(root *os.Root, o Options) error {
	_, err := root.Lstat(dbName)
	if errors.Is(err, fs.ErrNotExist) {
		const draft = dbName + ".new"
		f, err := openPrivate(root, draft, os.O_TRUNC, o)
		if err != nil {
			return err
		}
		return hinted(errors.Join(f.Close(), root.Rename(draft, dbName)))
	}
	if err != nil {
		return hinted(err)
	}
	for _, name := range []string{dbName, dbName + "-wal", dbName + "-shm"} {
		if err := narrow(root, name, fileMode, o); err != nil {
			return err
		}
	}
	return nil
}

// narrow gives a file or directory its mode, if it has another one. In a directory that may be shared it need not
// succeed: the file system may have no modes.
func narrow(root *os.Root, name string, mode fs.FileMode, o Options) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().Perm() != mode {
		err = root.Chmod(name, mode)
	}
	switch {
	case err == nil:
	case o.AllowShared:
		o.Logger.Warn("keep a file of the store from others", "name", path.Base(name), "error", err)
	default:
		return hinted(err)
	}
	return nil
}

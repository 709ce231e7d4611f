package localsock

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// The names in the store's directory.
const (
	socketsDir   = "members"
	socketSuffix = ".sock"
)

// directory is that of the sockets, open. Its methods may be called from any goroutine.
type directory struct {
	f      *os.File
	direct string // its path
}

// errNotPrivate refuses a directory in which others than the owner of the store could answer.
var errNotPrivate = errors.New("the directory of the sockets is not the store's own")

func open(dir string) (*directory, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(socketsDir)
	if err != nil {
		return nil, err
	}
	if err := private(root, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &directory{f: f, direct: filepath.Join(dir, socketsDir)}, nil
}

// private looks at the directories that are open, not at those that have their names by now.
func private(root *os.Root, f *os.File) error {
	store, err := root.Stat(".")
	if err != nil {
		return err
	}
	sockets, err := f.Stat()
	if err != nil {
		return err
	}
	if !sockets.IsDir() || sockets.Mode().Perm() != 0o700 || !sameOwner(store, sockets) {
		return errNotPrivate
	}
	return nil
}

func (d *directory) close() { d.f.Close() }

// sockets are the names of those that are there.
func (d *directory) sockets() (names []string) {
	all, err := os.ReadDir(d.path("."))
	if err != nil {
		return nil
	}
	for _, e := range all {
		if e.Type()&fs.ModeSocket != 0 && strings.HasSuffix(e.Name(), socketSuffix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// path is one that is short enough for the address of a socket, where the system has such paths.
func (d *directory) path(name string) string {
	if runtime.GOOS == "linux" {
		return "/proc/self/fd/" + strconv.Itoa(int(d.f.Fd())) + "/" + name
	}
	return filepath.Join(d.direct, name)
}

func (d *directory) dial(ctx context.Context, name string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", d.path(name))
}

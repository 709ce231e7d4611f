package directory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/rota-run/rota/source"
)

// listedAtOnce is how many names of a directory are read at a time: it may have 100,000, and the state of each takes
// more memory than what a scan keeps of it.
const listedAtOnce = 512

// walk is [fs.WalkDir] of all there is, but in the order in which the system lists names, and without a list of all
// that are in one directory.
func walk(fsys fs.FS, visit fs.WalkDirFunc) error {
	info, err := fs.Stat(fsys, ".")
	if err != nil {
		err = visit(".", nil, err)
	} else {
		err = walkDir(fsys, ".", fs.FileInfoToDirEntry(info), visit)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// walkDir visits a directory and what is in it.
func walkDir(fsys fs.FS, name string, d fs.DirEntry, visit fs.WalkDirFunc) error {
	if err := visit(name, d, nil); err != nil {
		return err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return visit(name, d, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return visit(name, d, &fs.PathError{Op: "readdir", Path: name, Err: errors.ErrUnsupported})
	}
	for {
		some, err := dir.ReadDir(listedAtOnce)
		for _, e := range some {
			if err := walkEntry(fsys, path.Join(name, e.Name()), e, visit); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return visit(name, d, err)
		}
	}
}

func walkEntry(fsys fs.FS, name string, d fs.DirEntry, visit fs.WalkDirFunc) error {
	if !d.IsDir() {
		return visit(name, d, nil)
	}
	err := walkDir(fsys, name, d, visit)
	if errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

// folder is a directory to scan, of this machine or of a program.
type folder interface {
	FS() fs.FS
	Stat(name string) (fs.FileInfo, error)
	// read reads a file of at most the size of a definition, never more, and returns its state at that time.
	read(name string) ([]byte, fs.FileInfo, error)
	watched() bool // the system tells of changes
	Close() error
}

// disk is a directory of this machine, which nothing is read outside of.
type disk struct{ *os.Root }

func openDisk(dir string) (folder, error) {
	root, err := os.OpenRoot(dir)
	return disk{root}, err
}

func (d disk) read(name string) ([]byte, fs.FileInfo, error) { return read(d.Root, name) }

func (disk) watched() bool { return true }

// Storage is a file system whose files are in a storage of another kind, such as a database. Faults name it, as the
// kind of their storage and at the beginning of their paths.
type Storage interface {
	fs.FS
	// Storage returns the kind, one word.
	Storage() string
}

// given are files that a program gives, such as those that are compiled into it.
type given struct{ files fs.FS }

func (g given) FS() fs.FS { return g.files }

func (g given) Stat(name string) (fs.FileInfo, error) { return fs.Stat(g.files, name) }

func (given) watched() bool { return false }

func (given) Close() error { return nil }

func (g given) read(name string) ([]byte, fs.FileInfo, error) {
	f, err := g.files.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	data, err := io.ReadAll(io.LimitReader(f, source.MaxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("read: %w", err)
	}
	if len(data) > source.MaxFile {
		return nil, nil, &sizeError{max(info.Size(), int64(len(data)))}
	}
	return data, info, nil
}

var (
	errIrregular = errors.New("it is not a regular file")
	errChanging  = errors.New("it changes while it is read")
)

type sizeError struct{ size int64 }

func (e *sizeError) Error() string { return fmt.Sprintf("it has %d bytes", e.size) }

// tries bounds how often a file that changes while it is read is read again in one scan.
const tries = 3

// read reads a file of at most the size of a definition, never more.
func read(root *os.Root, name string) ([]byte, fs.FileInfo, error) {
	for range tries {
		data, info, err := readOnce(root, name)
		if !errors.Is(err, errChanging) {
			return data, info, err
		}
	}
	return nil, nil, errChanging
}

func readOnce(root *os.Root, name string) ([]byte, fs.FileInfo, error) {
	// Without waiting: the name may have become a pipe since.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !before.Mode().IsRegular():
		return nil, nil, errIrregular
	case before.Size() > source.MaxFile:
		return nil, nil, &sizeError{before.Size()}
	}
	data := make([]byte, before.Size()+1) // one more tells that it has grown
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	after, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !unchanged(before, after, n):
		return nil, nil, errChanging
	}
	return data[:n], after, nil
}

// unchanged reports whether a file of which n bytes were read between two looks was the same all the time, as far as
// the looks can tell.
func unchanged(before, after os.FileInfo, n int) bool {
	return after.Size() == before.Size() && int64(n) == after.Size() && after.ModTime().Equal(before.ModTime())
}

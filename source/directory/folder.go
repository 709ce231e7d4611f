package directory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/rota-run/rota/source"
)

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

// Storage is a file system whose files are in a storage of another kind, such as a database. Faults name it, as the kind of their storage and at the beginning of their paths.
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

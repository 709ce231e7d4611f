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
	// read reads a file of at most the size of a definition, never more.
	read(name string) ([]byte, error)
}

// disk is a directory of this machine, which nothing is read outside of.
type disk struct{ *os.Root }

func (d disk) read(name string) ([]byte, error) { return read(d.Root, name) }

// programFiles is what paths begin with of files that a program gives and that say nothing else.
const programFiles = "program"

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

func (g given) read(name string) ([]byte, error) {
	info, err := fs.Stat(g.files, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errIrregular
	}
	f, err := g.files.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, source.MaxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if len(data) > source.MaxFile {
		return nil, &sizeError{max(info.Size(), int64(len(data)))}
	}
	return data, nil
}

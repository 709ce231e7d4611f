package directory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/rota-run/rota/source"
)

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

// unchanged reports whether a file of which n bytes were read between two looks was the same all the time, as far as the looks can tell.
func unchanged(before, after os.FileInfo, n int) bool {
	return after.Size() == before.Size() && int64(n) == after.Size() && after.ModTime().Equal(before.ModTime())
}

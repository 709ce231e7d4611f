package publish

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// NewFile returns a publisher of JSON lines that appends to the file at path, and creates it (mode 0640) if it does not exist. Run closes
// it. If the file ends in the middle of a line, as after a power cut, that line is ended first, so that the next one stays intact.
func NewFile(path string, o Options) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open file for samples: %w", err)
	}
	if torn(path) {
		if _, err := f.WriteString("\n"); err != nil {
			return nil, errors.Join(fmt.Errorf("end the torn last line of %s: %w", path, err), f.Close())
		}
	}
	to := &file{path: path, f: f}
	w := NewWriter(path, to, o)
	w.end, w.reopen = to.Close, to.reopen
	return w, nil
}

// file is a file that can be opened again while it is written to.
type file struct {
	path string
	mu   sync.Mutex
	f    *os.File
}

// Write implements io.Writer.
func (w *file) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.f.Write(b)
}

// Close implements io.Closer.
func (w *file) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.f.Close()
}

// reopen goes on in a new file of the same name, after the present one was renamed. Where that cannot be opened, it goes on in the present one.
func (w *file) reopen() error {
	next, err := os.OpenFile(w.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("open file for samples again: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.f
	w.f = next
	if err := before.Close(); err != nil {
		return fmt.Errorf("close the file for samples: %w", err)
	}
	return nil
}

// torn reports whether the regular file at path ends without a newline; false where that cannot be read.
func torn(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false // in particular a named pipe: opening it would block
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

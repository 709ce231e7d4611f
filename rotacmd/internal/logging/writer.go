package logging

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Patience is how long a line waits for the reader of a full pipe, if the line before it did not.
const Patience = 100 * time.Millisecond

// errFull is a pipe that nobody reads.
var errFull = errors.New("nobody reads it")

// Writer writes whole lines, and drops and counts those that cannot be written. It is safe for concurrent use.
type Writer struct {
	out io.Writer
	// ready waits at most so long until a write does not block.
	ready func(atMost time.Duration) bool

	mu    sync.Mutex
	lost  int
	cause error
	torn  bool // the last line was written in part
}

// NewWriter returns a writer to out.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{out: out, ready: func(time.Duration) bool { return true }}
	if f, ok := out.(*os.File); ok {
		w.ready = func(atMost time.Duration) bool { return writable(f, atMost) }
	}
	return w
}

// Write writes one line. It always succeeds: a line that is not written is counted.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	patience := Patience
	if w.lost > 0 {
		patience = 0
	}
	if !w.ready(patience) {
		w.lost, w.cause = w.lost+1, errFull
		return len(line), nil
	}
	if w.lost > 0 {
		if err := w.put(fmt.Appendf(nil, "%d lines of this log were lost: %v\n", w.lost, w.cause)); err != nil {
			w.lost, w.cause = w.lost+1, err
			return len(line), nil
		}
		w.lost = 0
	}
	if err := w.put(line); err != nil {
		w.lost, w.cause = w.lost+1, err
	}
	return len(line), nil
}

// put writes a line, at the beginning of one.
func (w *Writer) put(line []byte) error {
	if w.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := w.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	w.torn = w.torn && n == 0 || err != nil && n > 0
	return err
}

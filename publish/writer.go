package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrReaderGone ends Run when the other end of a pipe or socket was closed, as in "rota run | head". For the standard
// output of a process the Go runtime lets SIGPIPE end the process first, unless os/signal ignores or catches it.
var ErrReaderGone = errors.New("the reader of the output is gone")

// Writer publishes samples as lines of JSON to an io.Writer. All methods are safe from any goroutine; Run is called
// once.
type Writer struct {
	pump
	to io.Writer
	// reopen opens the file again; nil where there is none.
	reopen func() error
}

var _ Publisher = (*Writer)(nil)

// NewWriter returns a publisher of JSON lines to w, which it does not close. Errors contain the name: "stdout". If w
// blocks for ever, Run still returns, and leaks one goroutine in w.Write.
func NewWriter(name string, w io.Writer, o Options) *Writer {
	out := &Writer{pump: newPump(name, o), to: w}
	var buf bytes.Buffer
	out.send = func(_, hard context.Context, batch []Sample) error { return out.sendLines(hard, &buf, batch) }
	out.abort = func() {
		if f, ok := w.(interface{ SetWriteDeadline(time.Time) error }); ok {
			_ = f.SetWriteDeadline(time.Unix(1, 0)) // works for pipes and sockets; a file needs none
		}
	}
	return out
}

// Reopen goes on in a new file of the same name, so that the present one can be renamed and compressed by those who
// rotate logs. It does nothing where the samples do not go to a file.
func (w *Writer) Reopen() error {
	if w.reopen == nil {
		return nil
	}
	return w.reopen()
}

func (w *Writer) sendLines(hard context.Context, buf *bytes.Buffer, batch []Sample) error {
	buf.Reset()
	for _, s := range batch {
		appendLine(buf, s)
	}
	rest, err := w.writeAll(hard, buf.Bytes())
	w.q.settle(len(batch)-bytes.Count(rest, []byte("\n")), 0) // what remains in flight after an error is dropped by Run
	return err
}

// writeAll goes on after a short write from where it stopped, so that no line is torn or doubled. It returns what was
// not written.
func (w *Writer) writeAll(hard context.Context, b []byte) ([]byte, error) {
	wait := w.o.RetryMin
	for len(b) > 0 {
		n, err := w.to.Write(b)
		b = b[max(0, min(n, len(b))):]
		switch {
		case err == nil && n > 0:
			wait = w.o.RetryMin
			continue
		case err == nil:
			err = io.ErrShortWrite
		}
		w.q.failed(err)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			return b, ErrReaderGone
		}
		if !retryable(err) {
			return b, err
		}
		if !sleep(hard, hard, wait) {
			return b, fmt.Errorf("%w: %w", errStuck, err)
		}
		wait = min(2*wait, w.o.RetryMax)
	}
	return nil, nil
}

// retryable reports whether a failed write may succeed later: the sink would block, or its disk or quota is full.
func retryable(err error) bool {
	for _, e := range []error{syscall.EAGAIN, syscall.EINTR, syscall.ENOSPC, syscall.EDQUOT, syscall.ENOBUFS,
		io.ErrShortWrite} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// NewFile returns a publisher of JSON lines that appends to the file at path, and creates it (mode 0640) if it does not
// exist. Run closes it. If the file ends in the middle of a line, as after a power cut, that line is ended first, so
// that the next one stays intact.
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

// reopen goes on in a new file of the same name, after the present one was renamed. Where that cannot be opened, it
// goes on in the present one.
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

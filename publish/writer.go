package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrReaderGone ends Run when the other end of a pipe or socket was closed, as in "rota run | head". For the standard output of a process the
// Go runtime lets SIGPIPE end the process first, unless os/signal ignores or catches it.
var ErrReaderGone = errors.New("the reader of the output is gone")

var (
	errTwice = errors.New("the publisher was already run")
	errStuck = errors.New("the sink did not take the last samples in time")
)

// Writer publishes samples as lines of JSON to an io.Writer. All methods are safe from any goroutine; Run is called once.
type Writer struct {
	name  string
	to    io.Writer
	close func() error
	// reopen opens the file again; nil where there is none.
	reopen func() error
	o      Options
	q      *queue
	ran    atomic.Bool
}

var _ Publisher = (*Writer)(nil)

// NewWriter returns a publisher of JSON lines to w, which it does not close. Errors contain the name: "stdout". If w blocks for
// ever, Run still returns, and leaks one goroutine in w.Write.
func NewWriter(name string, w io.Writer, o Options) *Writer {
	o = o.withDefaults()
	return &Writer{name: name, to: w, close: func() error { return nil }, o: o, q: newQueue(o.Queue, o.Batch)}
}

// Name returns the name of the sink.
func (w *Writer) Name() string { return w.name }

// Reopen goes on in a new file of the same name, so that the present one can be renamed and compressed by those who rotate logs. It does nothing where the
// samples do not go to a file.
func (w *Writer) Reopen() error {
	if w.reopen == nil {
		return nil
	}
	return w.reopen()
}

// Publish queues samples; see Publisher.
func (w *Writer) Publish(samples ...Sample) { w.q.add(samples) }

// Stats returns the counters so far.
func (w *Writer) Stats() Stats { return w.q.snapshot() }

// Run writes until ctx ends and then flushes the queue, for Options.FlushTimeout at most. It returns nil after such an end, or
// the reason why the sink can take no more samples. Samples that could not be written are counted as dropped.
func (w *Writer) Run(ctx context.Context) error {
	if !w.ran.CompareAndSwap(false, true) {
		return fmt.Errorf("publish to %s: %w", w.name, errTwice)
	}
	hard, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	done := make(chan error, 1)
	go func() { done <- w.loop(ctx, hard) }()
	err := w.await(ctx, giveUp, done)
	if left := w.q.close(); err != nil {
		return fmt.Errorf("publish to %s: %w; %d samples were dropped", w.name, err, left)
	}
	return nil
}

// await waits for the loop; after ctx ended it has FlushTimeout, then its pauses are cut, then a write that hangs is left alone.
func (w *Writer) await(ctx context.Context, giveUp func(), done <-chan error) error {
	select {
	case err := <-done:
		return w.finish(err)
	case <-ctx.Done():
	}
	limit := time.NewTimer(w.o.FlushTimeout)
	defer limit.Stop()
	select {
	case err := <-done:
		return w.finish(err)
	case <-limit.C:
	}
	giveUp()
	if f, ok := w.to.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = f.SetWriteDeadline(time.Unix(1, 0)) // works for pipes and sockets; a file needs none
	}
	grace := time.NewTimer(w.o.FlushTimeout / 4)
	defer grace.Stop()
	select {
	case err := <-done:
		return w.finish(err)
	case <-grace.C:
		return errStuck
	}
}

func (w *Writer) finish(err error) error { return errors.Join(err, w.close()) }

// loop writes batches until ctx has ended and the queue is empty, or the sink fails for good, or hard ends.
func (w *Writer) loop(ctx, hard context.Context) error {
	var buf bytes.Buffer
	for {
		select {
		case <-w.q.some:
		case <-ctx.Done():
		}
		batch := w.q.take()
		if len(batch) == 0 {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // that is how it is asked to end
			}
			continue // the signal was for samples that the batch before took along
		}
		if err := w.send(hard, &buf, batch); err != nil {
			return err
		}
		w.pause(ctx)
	}
}

// pause gathers samples for a batch: a write for each sample would make a busy member slow.
func (w *Writer) pause(ctx context.Context) {
	t := time.NewTimer(w.o.FlushEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.q.full:
	case <-ctx.Done():
	}
}

func (w *Writer) send(hard context.Context, buf *bytes.Buffer, batch []Sample) error {
	buf.Reset()
	good := 0
	for _, s := range batch {
		before := buf.Len()
		if err := appendLine(buf, s); err != nil {
			buf.Truncate(before)
			continue
		}
		good++
	}
	for range len(batch) - good {
		w.q.failed()
	}
	w.q.settle(0, len(batch)-good)
	rest, err := w.writeAll(hard, buf.Bytes())
	w.q.settle(good-bytes.Count(rest, []byte("\n")), 0) // what remains in flight after an error is dropped by Run
	return err
}

// writeAll goes on after a short write from where it stopped, so that no line is torn or doubled. It returns what was not written.
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
		w.q.failed()
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			return b, ErrReaderGone
		}
		if !Retryable(err) {
			return b, err
		}
		if !sleep(hard, wait) {
			return b, fmt.Errorf("%w: %w", errStuck, err)
		}
		wait = min(2*wait, w.o.RetryMax)
	}
	return nil, nil
}

// Retryable reports whether a failed write may succeed later: the sink would block, or its disk or quota is full.
func Retryable(err error) bool {
	for _, e := range []error{syscall.EAGAIN, syscall.EINTR, syscall.ENOSPC, syscall.EDQUOT, syscall.ENOBUFS, io.ErrShortWrite} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// sleep waits between half of d and d and reports whether ctx allowed it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

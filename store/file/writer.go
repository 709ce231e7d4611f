package file

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/crowd"
)

// The limits of a transaction, so that others get their turn.
const (
	batchOps   = 1024
	batchBytes = 4 << 20
)

// writer is the one goroutine of a handle that writes. Changes that come while it is busy share the next transaction.
type writer struct {
	tx   *tx
	turn *turn
	bell *bell
	log  *slog.Logger

	mu    sync.Mutex
	queue []*op
	turns int           // transactions begun
	wake  chan struct{} // has room for one
	ended bool          // nothing more is accepted

	closing  chan struct{} // closed: write what is there, then end
	ctx      context.Context
	abandon  context.CancelCauseFunc // ends the wait for the turn
	crowd    crowd.Crowd             // the goroutine's own
	finished chan struct{}
}

func newWriter(tx *tx, turn *turn, bell *bell, log *slog.Logger) *writer {
	w := &writer{tx: tx, turn: turn, bell: bell, log: log, wake: make(chan struct{}, 1), closing: make(chan struct{}),
		finished: make(chan struct{})}
	w.ctx, w.abandon = context.WithCancelCause(context.Background())
	go w.loop()
	return w
}

// submit queues a change.
func (w *writer) submit(o *op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return store.ErrClosed
	}
	w.queue = append(w.queue, o)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return nil
}

// do queues a change and waits for its outcome.
func (w *writer) do(ctx context.Context, o *op) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.submit(o); err != nil {
		return err
	}
	return o.wait(ctx)
}

func (w *writer) loop() {
	defer close(w.finished)
	for w.await() {
		w.crowd.Wait(w.waiting, batchOps, w.wake, w.closing)
		w.turnOnce()
	}
}

// await waits for something to write; false at the end.
func (w *writer) await() bool {
	for {
		if w.pending() {
			return true
		}
		select {
		case <-w.wake:
		case <-w.closing:
			if w.pending() {
				return true
			}
			w.end()
			w.failAll(store.ErrClosed)
			return false
		}
	}
}

func (w *writer) pending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) > 0 && !w.ended
}

func (w *writer) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// turnOnce writes one transaction.
func (w *writer) turnOnce() {
	began := time.Now()
	if err := w.turn.take(w.ctx); err != nil {
		if w.ctx.Err() != nil {
			w.end()
			err = store.ErrClosed
		} else {
			err = classify(err)
		}
		w.failAll(err)
		return
	}
	light := w.lightOnly()
	err := w.tx.wait(!light)
	if err == nil {
		err = w.tx.begin()
	}
	if err != nil {
		w.giveTurn()
		w.failAll(classify(err))
		return
	}
	batch := w.takeBatch(light)
	if len(batch) == 0 { // all were withdrawn
		w.tx.rollback()
		w.giveTurn()
		return
	}
	outcomes, after := w.write(batch)
	w.giveTurn()
	for _, f := range after {
		f()
	}
	w.crowd.Answered(time.Since(began), len(batch)+w.waiting())
	for i, o := range batch {
		o.finish(outcomes[i])
	}
}

func (w *writer) giveTurn() {
	if err := w.turn.give(); err != nil {
		w.log.Error("give the turn to write to the next process", "error", err)
	}
}

// write makes the changes of a batch and commits; it returns the outcome of each and what to do after a commit.
func (w *writer) write(batch []*op) (outcomes []error, after []func()) {
	outcomes = make([]error, len(batch))
	for i, o := range batch {
		err := o.run(w.tx)
		var r refusal
		if err != nil && !errors.As(err, &r) {
			w.tx.rollback()
			return same(outcomes, classify(err)), nil
		}
		if err != nil {
			outcomes[i] = r.error
		}
	}
	if err := w.tx.commit(); err != nil {
		w.tx.rollback()
		return same(outcomes, classifyCommit(err)), nil
	}
	if w.tx.index > 0 {
		if err := w.bell.setMark(w.tx.index); err != nil {
			w.log.Warn("note how far the log was committed; a loss of its end may go unnoticed", "error", err)
		}
	}
	if w.tx.renewed {
		if err := w.bell.beat(); err != nil {
			w.log.Warn("note that heartbeats were renewed; readers look once more", "error", err)
		}
	}
	if err := w.bell.ring(w.tx.changed); err != nil {
		w.log.Warn("ring the bell for readers; they look by themselves", "error", err)
	}
	return outcomes, w.tx.after
}

func same(outcomes []error, err error) []error {
	for i := range outcomes {
		outcomes[i] = err
	}
	return outcomes
}

// lightOnly reports whether the disk need not be waited for.
func (w *writer) lightOnly() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.queue, func(o *op) bool { return !o.light })
}

// takeBatch takes what shares a transaction; with light, nothing that must be on the disk.
func (w *writer) takeBatch(light bool) []*op {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns++
	var batch []*op
	size := 0
	for len(w.queue) > 0 && len(batch) < batchOps && size < batchBytes && (!light || w.queue[0].light) {
		o := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		if o.take() {
			batch = append(batch, o)
			size += o.size
		}
	}
	return batch
}

// failAll answers everything that waits; nothing of it was changed.
func (w *writer) failAll(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.queue {
		if o.take() {
			o.finish(err)
		}
	}
	w.queue = nil
}

func (w *writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// turn lets one process after the other write. Only one goroutine of a handle uses it.
//
// One lock alone is not fair: who lets go of it and wants it again at once mostly gets it, since those that wait must
// first be woken. So a process waits in the queue's lock for being next, and keeps that until it has the turn.
type turn struct {
	queue, turn *os.File
}

func openTurn(root *os.Root, o Options) (*turn, error) {
	queue, err := openPrivate(root, queueName, 0, o)
	if err != nil {
		return nil, err
	}
	file, err := openPrivate(root, turnName, 0, o)
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	return &turn{queue: queue, turn: file}, nil
}

// take waits for this process's turn. After an error because of ctx the turn must not be used again, only closed: a
// thread may still wait in the kernel.
func (t *turn) take(ctx context.Context) error {
	if err := lock(ctx, t.queue); err != nil {
		return fmt.Errorf("wait in the queue of writers: %w", err)
	}
	if err := lock(ctx, t.turn); err != nil {
		return errors.Join(fmt.Errorf("wait for the turn to write: %w", err), funlock(t.queue))
	}
	if err := funlock(t.queue); err != nil {
		return errors.Join(fmt.Errorf("leave the queue of writers: %w", err), funlock(t.turn))
	}
	return nil
}

// give lets the next one write.
func (t *turn) give() error { return funlock(t.turn) }

func (t *turn) close() error { return errors.Join(t.queue.Close(), t.turn.Close()) }

// lock waits for an exclusive lock. flock cannot be interrupted, so the wait has a thread of its own.
func lock(ctx context.Context, f *os.File) error {
	if got, err := flock(f, true, false); got || err != nil {
		return err
	}
	got := make(chan error, 1)
	go func() {
		_, err := flock(f, true, true)
		got <- err
	}()
	select {
	case err := <-got:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

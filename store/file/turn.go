package file

import (
	"context"
	"errors"
	"fmt"
	"os"
)

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

package file

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rota-run/rota/store"
)

// op is one change that waits for its place in a transaction.
type op struct {
	// run makes the change. A refusal says that it changed nothing and the transaction goes on; any other error ends the
	// transaction. It must not keep what the caller gave after it returned.
	run   func(tx *tx) error
	size  int  // bytes, to bound a transaction
	light bool // a lease: it may be lost with the machine's power, so a transaction of such ops alone does not wait for the disk
	state atomic.Int32
	done  chan error      // gets the outcome, once; has room for it
	then  func(err error) // called with the outcome instead, from the writer's goroutine; it must not wait
}

// An op is either taken by the writer or withdrawn by its caller.
const (
	waiting int32 = iota
	taken
	withdrawn
)

func newOp(size int, run func(tx *tx) error) *op {
	return &op{run: run, size: size, done: make(chan error, 1)}
}

// finish passes the outcome to the waiter.
func (o *op) finish(err error) {
	if o.then != nil {
		o.then(err)
		return
	}
	o.done <- err
}

func (o *op) take() bool     { return o.state.CompareAndSwap(waiting, taken) }
func (o *op) withdraw() bool { return o.state.CompareAndSwap(waiting, withdrawn) }

// wait waits for the outcome. If ctx ends while the op is in a transaction, the outcome is unknown.
func (o *op) wait(ctx context.Context) error {
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
	}
	if o.withdraw() {
		return context.Cause(ctx)
	}
	select {
	case err := <-o.done:
		return err
	default:
		return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}

package work

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/rota-run/rota/internal/wait"
)

// Tracker knows what of a run is committed, where a run emits to something that commits later and in any order, such as
// a producer of Kafka. Save what Committed returns, and return nil from the run only after Finish: then nothing counts
// as done that may still be lost. The zero Tracker is ready. Its methods may be called from any goroutine.
type Tracker struct {
	settled wait.Change // nothing is open any more, or a commit has failed

	mu        sync.Mutex
	open      []*emitted // in the order of Emit; the first one is not committed
	committed []byte
	err       error // of the first commit that failed
}

// emitted is one thing on its way.
type emitted struct {
	position []byte
	done     bool
}

// Emit notes that something is on its way, behind which the run stands at this position. Call it in the order of the
// positions, and done when it is committed, or with the error of a commit that is given up.
func (t *Tracker) Emit(position []byte) (done func(error)) {
	e := &emitted{position: bytes.Clone(position)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, e)
	return func(err error) { t.done(e, err) }
}

func (t *Tracker) done(e *emitted, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.done = e.done || err == nil; !e.done && t.err == nil {
		t.err = err
	}
	for len(t.open) > 0 && t.open[0].done {
		t.committed, t.open = t.open[0].position, t.open[1:]
	}
	if len(t.open) == 0 || t.err != nil {
		t.settled.Fire()
	}
}

// Committed is the position before which all is committed, for [Grant.SavePosition]; nil while there is none.
func (t *Tracker) Committed() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.committed
}

// Finish returns when all that was emitted is committed; with an error when a commit has failed, or ctx ends.
func (t *Tracker) Finish(ctx context.Context) error {
	for {
		settled := t.settled.Next()
		t.mu.Lock()
		left, err := len(t.open), t.err
		t.mu.Unlock()
		switch {
		case err != nil:
			return fmt.Errorf("commit: %w", err)
		case left == 0:
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d commits: %w", left, context.Cause(ctx))
		}
	}
}

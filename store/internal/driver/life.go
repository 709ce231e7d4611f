package driver

import (
	"cmp"
	"context"
	"sync"

	"github.com/rota-run/rota/store"
)

// Life is how long a handle lasts, from [NewLife] to End.
type Life struct {
	Ctx context.Context //nolint:containedctx // ends with the handle, or before it, by Cancel
	// Cancel ends Ctx, and waits for nobody.
	Cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // Add only with mu held and not closed
}

// NewLife begins one.
func NewLife() *Life {
	l := &Life{}
	l.Ctx, l.Cancel = context.WithCancelCause(context.Background())
	return l
}

// Enter begins a call, or says why it must not begin. The context that it returns also ends with the life; the caller
// calls leave.
func (l *Life) Enter(ctx context.Context) (calling context.Context, leave func(), err error) {
	if err := cmp.Or(context.Cause(l.Ctx), context.Cause(ctx)); err != nil {
		return nil, nil, err
	}
	calling, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.Ctx, func() { cancel(context.Cause(l.Ctx)) })
	return calling, func() { stop(); cancel(nil) }, nil
}

// Hold keeps End from returning until release; false where the handle is closed.
func (l *Life) Hold() (release func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	l.inside.Add(1)
	return l.inside.Done, true
}

// Begin runs f on a goroutine that End waits for, unless the handle is closed.
func (l *Life) Begin(f func()) bool {
	release, ok := l.Hold()
	if ok {
		go func() { defer release(); f() }()
	}
	return ok
}

// Close lets nothing begin any more, and reports whether it is the first to do so. Calls that are under way go on until
// End.
func (l *Life) Close() (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, l.closed = !l.closed, true
	return first
}

// End ends Ctx with store.ErrClosed, and waits for what runs still.
func (l *Life) End() {
	l.Close()
	l.Cancel(store.ErrClosed)
	l.inside.Wait()
}

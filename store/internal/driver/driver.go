package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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

// staleFor is how long a server that was replaced may go on answering. NATS looks for its followers every ten seconds,
// and gives up when it has not heard from them for ten. The rest is for a slow server.
const staleFor = 30 * time.Second

// Head is the newest index of a log that a handle has seen. A server whose log ends before has been replaced without
// having noticed, or the log has lost its end. To a member the second is the end of its lease, so it must not be
// mistaken for the first, nor the other way round.
type Head struct {
	mu    sync.Mutex
	index uint64
	short time.Time // since when all answers end before index; zero: they do not
}

// Reached notes an index that exists.
func (h *Head) Reached(index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index >= h.index {
		h.index, h.short = index, time.Time{}
	}
}

// Believe refuses the answer of a server whose log ends before what this handle has seen, until it is certain that no
// other server has more.
func (h *Head) Believe(index uint64) error {
	if lacks := h.lacks(index, time.Now()); lacks > 0 {
		return fmt.Errorf("%w: the server that answered ends at %d and lacks %d records: it was replaced, or the log has "+
			"lost its end", store.ErrUnavailable, index, lacks)
	}
	return nil
}

// lacks is how many records an answer lacks that ends at index and must be disregarded, else 0.
func (h *Head) lacks(index uint64, now time.Time) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index < h.index {
		if h.short.IsZero() {
			h.short = now
		}
		if now.Sub(h.short) < staleFor {
			return h.index - index
		}
	}
	h.index, h.short = index, time.Time{} // what is missing here nobody has: it is lost
	return 0
}

// Because adds the reason why ctx has ended, if it has, to an error that came about without it.
func Because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", err, context.Cause(ctx))
}

// NotDone is the error of a call whose preparation failed: whatever became of the preparation, what the caller asked
// for was not begun. So the result is never store.ErrUnknown; it is store.ErrUnavailable instead.
func NotDone(err error) error {
	if !errors.Is(err, store.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, preparation{err})
}

// preparation is an error without store.ErrUnknown among what it wraps; the cause that ended a ctx stays.
type preparation struct{ err error }

func (p preparation) Error() string { return p.err.Error() }

// Is and As look at what is wrapped. There is no Unwrap, by which errors.Is would find what is hidden.
func (p preparation) Is(target error) bool {
	return target != store.ErrUnknown && errors.Is(p.err, target)
}

func (p preparation) As(target any) bool { return errors.As(p.err, target) }

// CheckSize refuses more than most bytes with store.ErrTooLarge.
func CheckSize(b []byte, most int) error {
	if len(b) > most {
		return fmt.Errorf("%d bytes, at most %d: %w", len(b), most, store.ErrTooLarge)
	}
	return nil
}

// Wrap puts what was asked for in front of the error of a call that failed; for a defer at the top of the call, with
// its named result.
func Wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}

// Place is where a store lies, for the errors of its calls.
type Place string

// Failed is the error of a call that failed, with what was asked for and where; nil stays nil.
func (p Place) Failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in %s: %w", fmt.Sprintf(format, args...), p, err)
}

package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// grace is how long a call under a fault may take until its ctx ends; any value is right, and none is asserted.
var grace = 400 * time.Millisecond

// soon is what a call may take to return when its ctx has ended: much more than it needs on a busy machine, less than clients wait for a handshake.
const soon = 5 * time.Second

// pending is a call that runs while its link breaks.
type pending struct {
	cancel   context.CancelCauseFunc
	returned chan struct{}
	err      error // set before returned is closed
	early    bool  // the call returned before its ctx ended; set with err
	strays   *int  // of the bench
}

// begin starts a call.
func (b *bench[S]) begin(call func(context.Context) error) *pending {
	ctx, cancel := context.WithCancelCause(b.ctx)
	p := &pending{cancel: cancel, returned: make(chan struct{}), strays: &b.strays}
	go func() {
		defer close(p.returned)
		p.err = call(ctx)
		p.early = ctx.Err() == nil
	}()
	return p
}

// end gives the call a little time to return by itself, then ends its ctx; a call that still does not return breaks a rule.
func (p *pending) end(t *testing.T, what string) error {
	t.Helper()
	defer p.cancel(nil)
	select {
	case <-p.returned:
		return p.err
	case <-time.After(grace):
		p.cancel(stoppedError{})
	}
	select {
	case <-p.returned:
	case <-time.After(min(soon, patience)):
		t.Fatalf("%s has not returned %v after its ctx ended", what, min(soon, patience))
	}
	if p.err != nil && !p.early && !errors.Is(p.err, stoppedError{}) { // who gave up as the call returned may find that out late
		p.stray(t, what)
	}
	return p.err
}

// stray judges an error that does not wrap the cause of a ctx that had ended. One may have been on its way back already, as on a busy machine that of a
// connection which was cut; a driver that forgets the cause does so each time.
func (p *pending) stray(t *testing.T, what string) {
	t.Helper()
	tell := t.Logf
	if *p.strays++; *p.strays > 1 {
		tell = t.Errorf
	}
	tell("%s: error %v after its ctx ended: it does not wrap the cause of the ctx", what, p.err)
}

// verdict is what a call says about its change.
type verdict int

const (
	done verdict = iota
	notDone
	unknown
)

// judge reads a verdict, and fails for errors that a fault cannot explain: the call had nothing wrong with it.
func judge(t *testing.T, what string, err error) verdict {
	t.Helper()
	if err == nil {
		return done
	}
	for _, never := range []error{store.ErrClosed, store.ErrTooLarge, store.ErrTruncated, store.ErrNotFound, store.ErrConflict, store.ErrSession} {
		if errors.Is(err, never) {
			t.Errorf("%s: error %v: it says %q, which is not so", what, err, never)
		}
	}
	if errors.Is(err, store.ErrUnknown) {
		return unknown
	}
	return notDone
}

// judgeRead checks the error of a call that changes nothing.
func judgeRead(t *testing.T, what string, err error) {
	t.Helper()
	if judge(t, what, err) == unknown {
		t.Errorf("%s: error %v: a call that changes nothing has no unknown outcome", what, err)
	}
}

// judgeNoAnswer ends a call that changes nothing, and that cannot be answered.
func judgeNoAnswer(t *testing.T, what string, call *pending) {
	t.Helper()
	err := call.end(t, what)
	if err == nil {
		t.Errorf("%s: no error", what)
	}
	judgeRead(t, what, err)
}

// again makes a call, each time with a little time, until it is done or not a fault's matter; the link is whole.
func again(t *testing.T, ctx context.Context, what string, call func(context.Context) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		one, cancel := context.WithTimeout(ctx, 3*grace)
		err = call(one)
		cancel()
		if err == nil {
			return
		}
		judge(t, what+" after the fault", err)
		time.Sleep(5 * time.Millisecond) // waits: between two attempts to do it, with a deadline
	}
	t.Fatalf("%s does not work %v after the end of the fault: %v", what, patience, err)
}

// patiently looks for something until it is there or so many ticks have passed, and tells which. While the process stands still, at most one tick passes.
func patiently(ticks int, tick time.Duration, holds func() bool) bool {
	for range ticks {
		if holds() {
			return true
		}
		time.Sleep(tick) // waits: between two checks of a condition, a bounded number of them
	}
	return holds()
}

// until looks for something until it is there or the time is over; that is no failure.
func until(d time.Duration, holds func() bool) {
	for end := time.Now().Add(d); !holds() && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond) // waits: between two looks at a condition with a deadline
	}
}

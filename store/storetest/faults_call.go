package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/rota-run/rota/store"
)

// grace is how long a call under a fault may take until its ctx ends; any value is right, and none is asserted.
var grace = 400 * time.Millisecond

// soon is what a call may take to return when its ctx has ended: much more than it needs on a busy machine, less than
// clients wait for a handshake.
const soon = 5 * time.Second

// ask makes a call that runs while its link breaks. It gives the call a little time to return by itself, then ends its
// ctx; a call that still does not return breaks a rule.
func (t *test) ask(what string, call func(context.Context) error) (err error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	returned, early := make(chan struct{}), false
	go func() {
		defer close(returned)
		err = call(ctx)
		early = ctx.Err() == nil
	}()
	select {
	case <-returned:
		return err
	case <-time.After(grace):
		cancel(stoppedError{})
	}
	select {
	case <-returned:
	case <-time.After(min(soon, patience)):
		t.Fatalf("%s has not returned %v after its ctx ended", what, min(soon, patience))
	}
	if err != nil && !early && !errors.Is(err, stoppedError{}) { // who gave up as the call returned may find that out late
		t.stray(what, err)
	}
	return err
}

// stray judges an error that does not wrap the cause of a ctx that had ended. One may have been on its way back
// already, as on a busy machine that of a connection which was cut; a driver that forgets the cause does so each time.
func (t *test) stray(what string, err error) {
	t.Helper()
	tell := t.Logf
	if t.strays++; t.strays > 1 {
		tell = t.Errorf
	}
	tell("%s: error %v after its ctx ended: it does not wrap the cause of the ctx", what, err)
}

// judge fails for errors that a fault cannot explain: the call had nothing wrong with it.
func (t *test) judge(what string, err error) {
	t.Helper()
	for _, never := range []error{store.ErrClosed, store.ErrTooLarge, store.ErrTruncated, store.ErrNotFound,
		store.ErrConflict, store.ErrSession} {
		if errors.Is(err, never) {
			t.Errorf("%s: error %v: it says %q, which is not so", what, err, never)
		}
	}
}

// noAnswer makes calls that change nothing, and that cannot be answered.
func (t *test) noAnswer(while string, all calls) {
	t.Helper()
	for name, call := range all { // order-free: each is judged alone
		what := name + " while the link is " + while
		err := t.ask(what, call)
		if err == nil || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v: want one, and a call that changes nothing has no unknown outcome", what, err)
		}
		t.judge(what, err)
	}
}

// again makes a call, each time with a little time, until it is done or not a fault's matter; the link is whole.
func (t *test) again(what string, call func(context.Context) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		one, cancel := context.WithTimeout(t.ctx, 3*grace)
		err = call(one)
		cancel()
		if err == nil {
			return
		}
		t.judge(what+" after the fault", err)
		time.Sleep(5 * time.Millisecond) // waits: between two attempts to do it, with a deadline
	}
	t.Fatalf("%s does not work %v after the end of the fault: %v", what, patience, err)
}

// warm makes sure that the handle is connected, by a document or a log.
func (t *test) warm(s any) {
	t.Helper()
	if docs, ok := s.(store.Docs); ok {
		t.again("get", func(ctx context.Context) error { return present(errOf(docs.Get(ctx, "f/none"))) })
	}
	if log, ok := s.(store.Log); ok {
		t.again("read", func(ctx context.Context) error { return errOf(log.Read(ctx, 0, 1)) })
	}
}

// present is an error of a read; that there is nothing is an answer.
func present(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// during does something while the link is broken, and returns when it is whole again: what was held may happen then.
func (b *bench[C]) during(breaks func(Link), do func()) {
	b.Helper()
	b.warm(b.through)
	breaks(b.link)
	do()
	b.heal()
	b.warm(b.through)
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) // waits: while a link is broken, and clients notice; nothing is asserted of how long
}

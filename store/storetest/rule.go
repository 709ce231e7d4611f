package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// Open makes an empty store and returns a function that opens a handle on it.
type Open[S any] func(t *testing.T) func(t *testing.T) S

// patience bounds what a suite waits for. It is long because it is met only by a failure.
// Only a test of the suites changes it.
var patience = 60 * time.Second

// test is one rule at work, with the context of its calls.
type test struct {
	*testing.T
	ctx    context.Context
	strays int // errors that did not wrap the cause of a ctx that had ended
}

func newTest(t *testing.T, d time.Duration) *test {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return &test{T: t, ctx: ctx}
}

// rule is one named rule of a contract; open opens another handle on a store that is its own.
type rule[C any] struct {
	name string
	run  func(t *test, open func() C)
}

// runRules runs the rules of a contract over a store that keeps it.
func runRules[S, C any](t *testing.T, open Open[S], rules ...rule[C]) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { t.Parallel(); r.play(t, as[S, C](open)) })
	}
}

func (r rule[C]) play(t *testing.T, open Open[C]) {
	t.Helper()
	handle := open(t)
	r.run(newTest(t, patience), func() C { return handle(t) })
}

// as opens a store as the contract that is tested.
func as[S, C any](open Open[S]) Open[C] {
	return func(t *testing.T) func(*testing.T) C {
		handle := open(t)
		return func(t *testing.T) C { return any(handle(t)).(C) }
	}
}

// calls are those of a contract, by name.
type calls map[string]func(context.Context) error

// refusing are rules, and two more of all calls of a contract: one whose ctx has ended before it, and one of a closed
// handle, say so and change nothing. prepare makes a handle ready for its calls; unchanged may be nil.
func refusing[C any](prepare func(t *test, s C) (all calls, unchanged func()), rules ...rule[C]) []rule[C] {
	return append(rules, rule[C]{"cancelled before the call", func(t *test, open func() C) {
		all, unchanged := prepare(t, open())
		for name, call := range all { // order-free: each is judged alone
			t.fails(name, call(cancelled()), stoppedError{})
		}
		if unchanged != nil {
			unchanged()
		}
	}},
		rule[C]{"closed", func(t *test, open func() C) {
			s := open()
			all, _ := prepare(t, s)
			t.close(s)
			t.close(s)
			for name, call := range all { // order-free: each is judged alone
				t.fails(name, call(t.ctx), store.ErrClosed)
			}
		}})
}

// stoppedError is the cause that suites cancel with; it must come back from the call.
type stoppedError struct{}

func (stoppedError) Error() string { return "stopped by the suite" }

// cancelled is a context that has ended before the call.
func cancelled() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stoppedError{})
	return ctx
}

// succeed ends the test where a call that only leads to what is tested fails.
func (t *test) succeed(what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// fails wants an error, which does not also say that the outcome is unknown.
func (t *test) fails(what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", what, err, want)
	}
	if !errors.Is(want, store.ErrUnknown) && errors.Is(err, store.ErrUnknown) {
		t.Fatalf("%s: error %v also says that the outcome is unknown", what, err)
	}
}

// await asks until it is so: what a server does for others may take a moment.
func (t *test) await(what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ask(); {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond) // waits: between two looks at a condition; only a failure waits for the end
	}
}

// close closes a handle, which must be a whole store.
func (t *test) close(handle any) {
	t.Helper()
	c, ok := handle.(interface{ Close() error })
	if !ok {
		t.Fatalf("%T has no Close: give the suite the whole store", handle)
	}
	t.succeed("close", c.Close())
}

// errOf is the error of a call that returns something beside it.
func errOf[T any](_ T, err error) error { return err }

package storetest

import (
	"context"
	"testing"
	"time"
)

// Open makes an empty store and returns a function that opens a handle on it.
type Open[S any] func(t *testing.T) func(t *testing.T) S

// patience bounds what a suite waits for. It is long because it is met only by a failure.
// Only a test of the suites changes it.
var patience = 60 * time.Second

// deadline is the context of a test's calls.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
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

// single opens the only handle of a fresh store.
func single[S any](t *testing.T, open Open[S]) (S, context.Context) {
	t.Helper()
	return open(t)(t), deadline(t)
}

// pair opens two handles on a fresh store.
func pair[S any](t *testing.T, open Open[S]) (a, b S, ctx context.Context) {
	t.Helper()
	handle := open(t)
	return handle(t), handle(t), deadline(t)
}

// succeed ends the test where a call that only leads to what is tested fails.
func succeed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// errOf is the error of a call that returns something beside it.
func errOf[T any](_ T, err error) error { return err }

// rule is one named rule of a contract.
type rule[S any] struct {
	name string
	run  func(t *testing.T, open Open[S])
}

func runRules[S any](t *testing.T, open Open[S], rules []rule[S]) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t, open)
		})
	}
}

// closer is what a handle has when it is a whole store.Store.
type closer interface{ Close() error }

func closeHandle(t *testing.T, handle any) {
	t.Helper()
	c, ok := handle.(closer)
	if !ok {
		t.Fatalf("%T has no Close: give the suite the whole store", handle)
	}
	succeed(t, "close", c.Close())
}

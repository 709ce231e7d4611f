package rig

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Patience bounds waits that only a failure exhausts; LongPatience is for what takes many steps.
const (
	Patience     = 60 * time.Second
	LongPatience = 4 * Patience
)

// Deadline returns a context that ends after Patience, or with the test.
func Deadline(t testing.TB) context.Context { return within(t, Patience) }

// LongDeadline returns a context that ends after LongPatience, or with the test.
func LongDeadline(t testing.TB) context.Context { return within(t, LongPatience) }

// within does not end with t.Context, which is cancelled before the cleanup of a test begins.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Eventually asks until the answer is true. The test fails after Patience.
func Eventually(t testing.TB, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !ask(); {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", Patience, what)
		}
		time.Sleep(5 * time.Millisecond) // waits: servers and other processes send no signals; the end is bounded by Patience
	}
}

// Hinted waits for a hint of a watch.
func Hinted(t testing.TB, hints <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-hints:
		if !open {
			t.Fatal("the watch has ended")
		}
	case <-time.After(Patience):
		t.Fatalf("no hint within %v", Patience)
	}
}

// Leaks returns an error if goroutines are left. On a busy machine, what was closed needs time to end.
func Leaks() error {
	for end := time.Now().Add(Patience); ; {
		if err := goleak.Find(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// Drain takes a hint that is pending.
func Drain(hints <-chan struct{}) {
	select {
	case <-hints:
	default:
	}
}

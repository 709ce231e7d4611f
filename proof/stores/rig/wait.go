package rig

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
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

// inARow is how many reads must be answered one after the other: clients that have several connections take turns among
// them.
const inARow = 30

// Answers waits until a handle, one of whose servers is silent, no longer asks that one: many reads of a document in a
// row get its version.
func Answers(t testing.TB, s store.Docs, key string, v store.Version) {
	t.Helper()
	ctx, began, asked := LongDeadline(t), time.Now(), 0
	for answers := 0; answers < inARow; asked++ {
		if answered(ctx, s, key, v) {
			answers++
			continue
		}
		if ctx.Err() != nil {
			t.Fatalf("a server is silent, and is still asked after %v", time.Since(began))
		}
		answers = 0
		time.Sleep(10 * time.Millisecond) // waits: between two attempts; the end is that of ctx
	}
	t.Logf("a server is silent: it is no longer asked after %v and %d calls", time.Since(began).Round(time.Millisecond),
		asked-inARow)
}

func answered(ctx context.Context, s store.Docs, key string, v store.Version) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // enough for a busy machine, too little for a server that is silent
	defer cancel()
	d, err := s.Get(ctx, key)
	return err == nil && d.Version == v
}

// Records are all of a log, which must not be trimmed.
func Records(t testing.TB, s store.Log) (all []store.Record) {
	t.Helper()
	for after := uint64(0); ; {
		page := must.Get(s.Read(Deadline(t), after, 1000))(t)
		if all = append(all, page.Records...); len(all) > 0 {
			after = all[len(all)-1].Index
		}
		if after == page.Head {
			return all
		}
		if len(page.Records) == 0 {
			t.Fatalf("there is nothing behind %d, and the log ends at %d", after, page.Head)
		}
	}
}

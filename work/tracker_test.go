package work_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/work"
)

// What is committed is the greatest prefix whose commits have all succeeded, whatever their order.
func TestTrackerCommitsPrefixes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tr work.Tracker
		var done []func(error)
		var good []bool
		buf := make([]byte, 0, 8) // the caller uses it again
		t.Repeat(map[string]func(*rapid.T){
			"emit": func(*rapid.T) {
				buf = fmt.Append(buf[:0], len(done))
				done, good = append(done, tr.Emit(buf)), append(good, false)
			},
			"commit": func(t *rapid.T) {
				if len(done) == 0 {
					t.Skip("nothing is on its way")
				}
				i, ok := rapid.IntRange(0, len(done)-1).Draw(t, "which"), rapid.IntRange(0, 9).Draw(t, "luck") > 0
				good[i] = good[i] || ok
				if ok {
					done[i](nil)
				} else {
					done[i](errors.New("no luck"))
				}
			},
			"": func(t *rapid.T) {
				want := ""
				if n := slices.Index(append(slices.Clone(good), false), false); n > 0 {
					want = fmt.Sprint(n - 1)
				}
				if got := string(tr.Committed()); got != want {
					t.Fatalf("committed is %q, want %q: %v", got, want, good)
				}
			},
		})
	})
}

// A run finishes when the last commit is there, not before; one that fails, or its context, ends the wait.
func TestTrackerFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tr work.Tracker
		if err := tr.Finish(t.Context()); err != nil {
			t.Error(err)
		}
		first, second := tr.Emit([]byte("1")), tr.Emit([]byte("2"))
		began, ended := time.Now(), make(chan error, 1)
		go func() { ended <- tr.Finish(t.Context()) }()
		time.AfterFunc(time.Second, func() { second(nil) })
		time.AfterFunc(time.Minute, func() { first(nil) })
		if err := <-ended; err != nil || time.Since(began) != time.Minute || string(tr.Committed()) != "2" {
			t.Errorf("it ended after %v with %v at %q", time.Since(began), err, tr.Committed())
		}
		third, lost := tr.Emit([]byte("3")), errors.New("the disk is full")
		go func() { ended <- tr.Finish(t.Context()) }()
		synctest.Wait()
		third(lost)
		if err := <-ended; !errors.Is(err, lost) || string(tr.Committed()) != "2" {
			t.Errorf("a commit has failed: %v at %q", err, tr.Committed())
		}
		third(errors.New("still full"))
		if err := tr.Finish(t.Context()); !errors.Is(err, lost) {
			t.Errorf("the first of two errors is not told: %v", err)
		}
		var never work.Tracker
		never.Emit([]byte("1"))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(work.CauseMoved)
		if err := never.Finish(ctx); !errors.Is(err, work.CauseMoved) {
			t.Errorf("its context has ended: %v", err)
		}
	})
}

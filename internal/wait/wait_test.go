package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// docs is a store that sends what a test sends.
type docs struct {
	hints chan struct{}
	err   error
}

func (d docs) Watch(context.Context, string) (<-chan struct{}, error) { return d.hints, d.err }

// TestOr: a hint comes at once, a wake too, and without either there is a poll; a watch that has ended is one more
// hint and then none.
func TestOr(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := docs{hints: make(chan struct{}, 1)}
		h, w := Watch(t.Context(), d, "p/"), NewWake()
		other := make(chan struct{}, 1)
		ended, stop := context.WithCancel(t.Context())
		stop()
		or := func(what string, ctx context.Context, hinted bool, took time.Duration) {
			t.Helper()
			began := time.Now()
			if got := h.Or(ctx, time.Minute, w, other); got != hinted || time.Since(began) != took {
				t.Errorf("%s: hinted %t after %v", what, got, time.Since(began))
			}
		}
		d.hints <- struct{}{}
		or("a hint", t.Context(), true, 0)
		w.Set()
		w.Set()
		or("a wake", t.Context(), false, 0)
		or("nothing", t.Context(), false, time.Minute)
		other <- struct{}{}
		or("another one", t.Context(), false, 0)
		or("the end", ended, false, 0)
		w.Set()
		w.Clear()
		w.Clear()
		or("a wake that was taken back", t.Context(), false, time.Minute)
		close(d.hints)
		or("the end of the watch", t.Context(), true, 0)
		or("no watch any more", t.Context(), false, time.Minute)
		if h.Sent() || Watch(t.Context(), docs{err: errors.New("no")}, "p/").Sent() ||
			Watch(t.Context(), "no store", "p/").Sent() {
			t.Error("there are hints where there is no watch")
		}
		if !For(t.Context(), time.Second) || For(ended, time.Second) {
			t.Error("For says whether ctx had not ended")
		}
	})
}

// TestChange: a channel that was taken before Fire is closed by it, one that was taken later is not.
func TestChange(t *testing.T) {
	t.Parallel()
	var c Change
	c.Fire()
	before, again := c.Next(), c.Next()
	c.Fire()
	<-before
	<-again
	select {
	case <-c.Next():
		t.Error("a change that nobody has made")
	default:
	}
}

// TestFor: a wait under a ctx that has ended is in vain, even one of no time at all.
func TestFor(t *testing.T) {
	t.Parallel()
	ended, stop := context.WithCancel(t.Context())
	stop()
	for range 50 { // of two channels that are ready, select takes any
		if d := time.Duration(0); !For(t.Context(), d) || For(ended, d) || For(ended, time.Hour) {
			t.Fatal("it does not tell whether the wait was in vain")
		}
	}
}

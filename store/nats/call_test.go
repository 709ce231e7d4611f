package nats

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAsked: what is not answered is asked again, as often as allowed; an answer, also an error, ends it.
func TestAsked(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, c := range []struct {
		name    string
		answers []time.Duration // of each call, after how long; 0: none
		times   int
		err     error
		want    int // the call whose answer counts; 0: none
		took    time.Duration
		calls   int
	}{
		{"at once", []time.Duration{time.Second}, 2, nil, 1, time.Second, 1},
		{"the second one", []time.Duration{0, time.Second}, 2, nil, 2, 6 * time.Second, 2},
		{"the first one late", []time.Duration{7 * time.Second, 4 * time.Second}, 2, nil, 1, 7 * time.Second, 2},
		{"once alone", []time.Duration{0, time.Second}, 1, nil, 0, 20 * time.Second, 1},
		{"never", []time.Duration{0, 0, 0}, 2, nil, 0, 20 * time.Second, 2},
		{"refused", []time.Duration{time.Second}, 2, refused, 1, time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				var calls atomic.Int32
				began := time.Now()
				got, err := asked(ctx, 5*time.Second, c.times, func(ctx context.Context) (int, error) {
					n := int(calls.Add(1))
					var answer <-chan time.Time
					if c.answers[n-1] > 0 {
						answer = time.After(c.answers[n-1])
					}
					select {
					case <-answer:
						return n, c.err
					case <-ctx.Done():
						return 0, context.Cause(ctx)
					}
				})
				want := c.err
				if c.want == 0 {
					want = context.DeadlineExceeded
				}
				if took := time.Since(began); got != c.want || !errors.Is(err, want) || took != c.took ||
					int(calls.Load()) != c.calls {
					t.Errorf("answer %d, %v after %v and %d calls, want %d, %v after %v and %d", got, err, took,
						calls.Load(), c.want, want, c.took, c.calls)
				}
			})
		})
	}
}

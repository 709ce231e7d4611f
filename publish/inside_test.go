package publish

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	want := Options{
		Queue: 10_000, Batch: 500, FlushEvery: 100 * time.Millisecond, FlushTimeout: 2 * time.Second,
		SendTimeout: 10 * time.Second,
		RetryMin:    50 * time.Millisecond, RetryMax: 5 * time.Second,
	}
	if got := (Options{}).withDefaults(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (Options{RetryMin: time.Minute}).withDefaults(); got.RetryMax != time.Minute {
		t.Errorf("the longest pause is %v, shorter than the first", got.RetryMax)
	}
}

// TestLag is the age of the oldest sample that is neither sent nor dropped, also while it is being sent.
func TestLag(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		q := newQueue(10, 2)
		lag := func(want time.Duration) {
			t.Helper()
			if got := time.Duration(q.report().LagMS) * time.Millisecond; got != want {
				t.Errorf("the lag is %v, want %v", got, want)
			}
		}
		q.add(nil)
		time.Sleep(10 * time.Second)
		q.add(make([]Sample, 1))
		lag(0)
		time.Sleep(50 * time.Millisecond)
		q.add(make([]Sample, 1)) // too soon for a mark of its own
		time.Sleep(950 * time.Millisecond)
		q.add(make([]Sample, 1))
		time.Sleep(2 * time.Second)
		lag(3 * time.Second)
		q.take()
		lag(3 * time.Second)
		q.settle(1, 0)
		lag(3 * time.Second)
		q.settle(1, 0)
		lag(2 * time.Second)
		q.take()
		lag(2 * time.Second) // in flight alone
		q.settle(0, 1)
		lag(0)
		time.Sleep(10 * time.Second)
		q.add(make([]Sample, 1))
		lag(0) // not since the last one before it
		if s := q.snapshot(); s.Queued != 1 || s.Sent != 2 || s.Dropped != 1 {
			t.Errorf("got %+v", s)
		}
	})
}

// TestAFullBatchThatIsLeftIsSaid: after one batch was taken, the next one that is complete does not wait for the pause.
func TestAFullBatchThatIsLeftIsSaid(t *testing.T) {
	t.Parallel()
	q := newQueue(10, 2)
	q.add(make([]Sample, 4))
	for _, want := range []int{1, 0} {
		batch := q.take()
		if len(q.full) != want || batch[0].Name != "" {
			t.Errorf("it is said %d times, want %d, and has %v", len(q.full), want, batch)
		}
		_ = append(batch, Sample{Name: "of the sink"}) // costs no sample that waits
	}
	q = newQueue(2, 9) // no batch is longer than the queue
	if q.add(make([]Sample, 2)); len(q.full) != 1 {
		t.Error("a queue that is full is not said")
	}
}

// TestSleep lasts between half of its time and all of it. The end of soft cuts it short, unless that was there before;
// the end of hard always does.
func TestSleep(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const d = 10 * time.Second
		ended, end := context.WithCancel(t.Context())
		end()
		for _, soft := range []context.Context{t.Context(), ended} {
			for range 100 {
				began := time.Now()
				if ok := sleep(soft, t.Context(), d); !ok || time.Since(began) < d/2 || time.Since(began) > d {
					t.Fatalf("slept %v of %v, %v", time.Since(began), d, ok)
				}
			}
		}
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		if ok := sleep(soon, t.Context(), d); !ok || time.Since(began) != time.Second {
			t.Errorf("soft ended: slept %v, %v", time.Since(began), ok)
		}
		if ok := sleep(ended, ended, d); ok || time.Since(began) != time.Second {
			t.Errorf("hard ended: slept %v, %v", time.Since(began)-time.Second, ok)
		}
	})
}

// hangs is a sink whose call does not come back, whatever its context says, until it is let go.
type hangs struct{ letGo, closed chan struct{} }

func (h hangs) Send(context.Context, []Sample) Outcome { <-h.letGo; return Outcome{Refused: 1} }
func (h hangs) Close() error                           { close(h.closed); return nil }

// TestACallThatHangsIsLeft: Run returns a quarter of the flush timeout after it, and the sink is closed when the call
// comes back.
func TestACallThatHangsIsLeft(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		h := hangs{make(chan struct{}), make(chan struct{})}
		b := NewBatcher("x", h, Options{FlushTimeout: 2 * time.Second})
		b.Publish(Sample{}, Sample{})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		if err := b.Run(ctx); !errors.Is(err, errStuck) || time.Since(began) != 2500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(h.letGo)
		<-h.closed
		synctest.Wait()
		if got, want := b.Stats(), (Stats{Dropped: 2, Errors: 1}); got != want { // it was counted when it was left
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// stubborn takes nothing at some calls, in between one byte, and has no error then.
type stubborn struct {
	bytes.Buffer
	at []time.Time // of the calls
}

func (s *stubborn) Write(b []byte) (int, error) {
	s.at = append(s.at, time.Now())
	if most := []int{0, 0, 0, 0, 1, 0}; len(s.at) <= len(most) {
		b = b[:most[len(s.at)-1]]
	}
	return s.Buffer.Write(b)
}

// TestAWriteOfNothingPasses: it counts as an error, and the samples as sent when they are. The pause after it is short
// where something was taken since the last one.
func TestAWriteOfNothingPasses(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		to := &stubborn{}
		w := NewWriter("x", to, Options{})
		w.Publish(make([]Sample, 3)...)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(time.Minute)
		if got, want := w.Stats(), (Stats{Sent: 3, Errors: 5}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if d := to.at[6].Sub(to.at[5]); d > 50*time.Millisecond {
			t.Errorf("it was tried again after %v", d)
		}
		if at := w.Sinks()[0].LastErrorAtMS; at != to.at[5].UnixMilli() {
			t.Errorf("the last error was at %d, want %v", at, to.at[5])
		}
		stop()
		must.Succeed(t, <-ended)
	})
}

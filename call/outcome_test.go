package call_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
)

// OnFailureOrTimeout calls back once, whether it was asked for before or after the end, and however often somebody
// waits.
func TestOnFailureOrTimeoutIsToldOnce(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		begin := make(chan struct{})
		fail := call.NewFunc("fail", func(context.Context, int) (int, error) {
			<-begin
			return 0, call.Permanent(errors.New("no"))
		}, call.Options{})
		fine := call.NewFunc("fine", func(context.Context, int) (int, error) { return 1, nil }, call.Options{})
		_, c := lab(t, 4, fail, fine)
		sent, good := submit(t, fail, c, 1), submit(t, fine, c, 1)
		told, wrong := make(chan error, 16), make(chan error, 16)
		sent.OnFailureOrTimeout(func(err error) { told <- err })
		sent.OnFailureOrTimeout(func(err error) { told <- err })
		good.OnFailureOrTimeout(func(err error) { wrong <- err })
		close(begin)
		for range 3 {
			if _, err := wait(t, sent); err == nil {
				t.Error("it did not fail")
			}
		}
		if _, err := wait(t, good); err != nil {
			t.Error(err)
		}
		sent.OnFailureOrTimeout(func(err error) { told <- err })
		good.OnFailureOrTimeout(func(err error) { wrong <- err })
		for range 3 {
			var e *call.Error
			if err := receive(t, "the callback", told); !errors.As(err, &e) || e.Message != "no" {
				t.Errorf("got %v", err)
			}
		}
		c.Close()
		if len(told) > 0 || len(wrong) > 0 {
			t.Errorf("%d more, and %d for a call that went well", len(told), len(wrong))
		}
	})
}

// A wish to cancel stops the running function; a queued call does not begin; one that has ended stays as it is.
func TestCancel(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		began, ended := make(chan int, 8), make(chan error, 8)
		stay := call.NewFunc("stay", func(ctx context.Context, n int) (int, error) {
			if n < 0 {
				return n, nil
			}
			began <- n
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return 0, ctx.Err()
		}, call.Options{})
		s, c := lab(t, 1, stay)
		running := submit(t, stay, c, 1)
		receive(t, "it begins", began)
		queued := submit(t, stay, c, 2)
		for _, sent := range []*call.Call[int]{queued, running, running} {
			must.Succeed(t, sent.Cancel(t.Context()))
		}
		for _, sent := range []*call.Call[int]{queued, running} {
			if _, err := wait(t, sent); !errors.Is(err, call.ErrCancelled) {
				t.Errorf("got %v", err)
			}
		}
		if err := receive(t, "the function stops", ended); !errors.Is(err, call.CauseCancelled) {
			t.Errorf("its cause is %v", err)
		}
		done := submit(t, stay, client(t, s.Open(), "a"), -1)
		look := s.Open()
		await(t, "it is done", func() bool { return stateOf(t, look, done.ID()) == "done" })
		if err := done.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
		if r, err := wait(t, done); err != nil || r != -1 {
			t.Errorf("got %d, %v", r, err)
		}
		if err := done.Cancel(t.Context()); err != nil {
			t.Errorf("to cancel what is gone: %v", err)
		}
		if len(began) > 0 {
			t.Error("a cancelled call began")
		}
	})
}

// TestADelayedCall begins when its delay is over, within one poll.
func TestADelayedCall(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var began time.Duration
		submitted := time.Now()
		run := call.NewFunc("run", func(context.Context, int) (int, error) {
			began = time.Since(submitted)
			return 1, nil
		}, call.Options{Delay: 10 * time.Second})
		_, c := lab(t, 4, run)
		if _, err := wait(t, submit(t, run, c, 1)); err != nil || began < 10*time.Second || began > 10100*time.Millisecond {
			t.Errorf("it began after %s, %v", began, err)
		}
	})
}

// The caller that waits for nobody is not forgotten when its ctx ends, and not told twice.
func TestWaitEndsWithItsContext(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		begin := make(chan struct{})
		f := call.NewFunc("f", func(context.Context, int) (int, error) { <-begin; return 5, nil }, call.Options{})
		_, c := lab(t, 1, f)
		sent := submit(t, f, c, 1)
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := sent.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(begin)
		for range 2 {
			if r, err := wait(t, sent); err != nil || r != 5 {
				t.Errorf("got %d, %v", r, err)
			}
		}
	})
}

// Who submits 10,000 calls does not keep another caller waiting for them.
func TestFairAmongCallers(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ran := make(chan string, 20_000)
		f := call.NewFunc("f", func(_ context.Context, who string) (int, error) {
			ran <- who
			time.Sleep(time.Millisecond) // waits: in virtual time; it is the work
			return 0, nil
		}, call.Options{})
		s, many := lab(t, 4, f)
		const calls = 10_000
		limit := make(chan struct{}, 200)
		failed := make(chan error, calls)
		go func() {
			defer close(failed)
			for range calls {
				limit <- struct{}{}
				go func() {
					defer func() { <-limit }()
					if _, err := f.Submit(context.Background(), many, "many"); err != nil {
						failed <- err
					}
				}()
			}
			for range cap(limit) {
				limit <- struct{}{}
			}
		}()
		await(t, "there is much to do", func() bool { return len(ran) > 50 })
		one := client(t, s.Open(), "one")
		sent := submit(t, f, one, "one")
		before := len(ran)
		if before > calls/2 {
			t.Fatalf("%d of the other caller's calls have run before: nothing is shown", before)
		}
		must.Succeed(t, must.Err(wait(t, sent)))
		ahead := 0
		for who := range ran {
			if who == "one" {
				break
			}
			ahead++
		}
		if ahead -= before; ahead > calls/4 {
			t.Errorf("%d calls of the other caller ran first", ahead)
		}
		t.Logf("%d calls of the other caller ran first, after %d", ahead, before)
		for err := range failed {
			t.Error(err)
		}
	})
}

// No more calls run than there are slots, and all of them do in the end.
func TestCallsKeepToTheSlots(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		f := call.NewFunc("f", func(_ context.Context, n int) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(10 * time.Second) // waits: in virtual time
			return n, nil
		}, call.Options{})
		_, c := lab(t, 2, f)
		var all []*call.Call[int]
		for i := range 5 {
			all = append(all, submit(t, f, c, i))
		}
		time.Sleep(5 * time.Second) // waits: in virtual time
		synctest.Wait()
		if now.Load() != 2 {
			t.Errorf("%d run on 2 slots", now.Load())
		}
		for i, h := range all {
			if got, err := wait(t, h); err != nil || got != i {
				t.Errorf("call %d: %d, %v", i, got, err)
			}
		}
		if most.Load() != 2 {
			t.Errorf("at most %d ran on 2 slots", most.Load())
		}
	})
}

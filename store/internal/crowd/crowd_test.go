package crowd_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/store/internal/crowd"
)

// waits tells how long Wait takes while callers come, one after each step.
func waits(c *crowd.Crowd, step time.Duration, there, coming, limit int) time.Duration {
	var n atomic.Int64
	n.Store(int64(there))
	wake, end := make(chan struct{}, 1), make(chan struct{})
	stop := make(chan struct{})
	go func() {
		for range coming {
			select {
			case <-time.After(step):
			case <-stop:
				return
			}
			n.Add(1)
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}()
	began := time.Now()
	c.Wait(func() int { return int(n.Load()) }, limit, wake, end)
	close(stop)
	return time.Since(began)
}

func TestWait(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for name, c := range map[string]struct {
		took                       time.Duration
		seen, there, coming, limit int
		step, want                 time.Duration // from one caller to the next
	}{
		"nothing was seen yet":                {0, 0, 1, 5, 100, us, 0},
		"one caller alone":                    {800 * us, 1, 1, 0, 100, us, 0},
		"all are back":                        {800 * us, 8, 8, 0, 100, us, 0},
		"they come back":                      {800 * us, 8, 1, 7, 100, us, 7 * us},
		"some do not: a quarter of a request": {800 * us, 8, 1, 3, 100, us, 200 * us},
		"requests are slow: a millisecond":    {time.Second, 8000, 1, 7000, 8000, us, time.Millisecond},
		"no more than fit into one request":   {800 * us, 64, 1, 63, 4, us, 3 * us},
		"all come":                            {800 * us, 32, 1, 31, 100, 20 * us, 31 * 20 * us},
		"a request's time is over":            {800 * us, 32, 1, 31, 100, 90 * us, 800 * us},
		"slower than an eighth of it":         {800 * us, 32, 1, 31, 100, 110 * us, 100 * us},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var crowd crowd.Crowd
				crowd.Answered(c.took, c.seen)
				if got := waits(&crowd, c.step, c.there, c.coming, c.limit); got != c.want {
					t.Errorf("waited %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestEnough: who is the last to come knows it, while somebody waits.
func TestEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c crowd.Crowd
		c.Answered(time.Second, 8)
		there, wake := 1, make(chan struct{})
		if c.Enough(100) {
			t.Error("enough, and nobody waits")
		}
		began := time.Now()
		go c.Wait(func() int { return there }, 4, wake, nil)
		synctest.Wait()
		if c.Enough(3) || !c.Enough(4) {
			t.Errorf("enough: 3 %v, 4 %v; want 4", c.Enough(3), c.Enough(4))
		}
		there = 4
		wake <- struct{}{}
		synctest.Wait()
		if c.Enough(100) || time.Since(began) > 0 {
			t.Errorf("still waiting, after %v", time.Since(began))
		}
	})
}

// A crowd that came in two requests is waited for as one; one that has gone is forgotten.
func TestACrowdIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c crowd.Crowd
		c.Answered(time.Millisecond, 64)
		c.Answered(time.Millisecond, 1)
		if got := waits(&c, time.Microsecond, 1, 63, 100); got < 40*time.Microsecond {
			t.Errorf("waited only %v", got)
		}
		for range 16 {
			c.Answered(time.Millisecond, 1)
		}
		if got := waits(&c, time.Microsecond, 1, 0, 100); got != 0 {
			t.Errorf("one alone waited %v", got)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c crowd.Crowd
		c.Answered(time.Second, 8)
		end := make(chan struct{})
		close(end)
		began := time.Now()
		c.Wait(func() int { return 1 }, 100, nil, end)
		if got := time.Since(began); got != 0 {
			t.Errorf("waited %v", got)
		}
	})
}

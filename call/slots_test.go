package call_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/call"
)

// No more calls run than there are slots, and all of them do in the end.
func TestCallsKeepToTheSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
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

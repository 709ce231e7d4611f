package rota_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/handle"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestWaitForWhatWasSubmittedElsewhere: a member that has yet to hear of a job, or of its second run, waits for it all
// the same, and asks for a round of it. A job that nobody has submitted is still unknown, and where nobody can tell,
// because the store does not answer, the error says that.
func TestWaitForWhatWasSubmittedElsewhere(t *testing.T) {
	for _, p := range []rota.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual(t, func(t *testing.T, ctx context.Context) {
				var runs atomic.Int64
				slow := rota.NewType("slow", func(context.Context, *rota.Grant, struct{}) error {
					time.Sleep(3 * time.Second) // waits: in virtual time
					runs.Add(1)
					return nil
				})
				check := rota.NewCheck("check", func(context.Context, *rota.Grant, struct{}) error { return nil })
				s, types := memory.New(), []rota.Type{slow, check}
				a := joinAs(t, ctx, s, rota.Config{Member: "a", Protocol: p, Types: types, Weight: 1000})
				way := handle.New(s.Open())
				b, err := rota.Join(ctx, rota.Config{Member: "b", Store: way, Clock: protocol.NewProcessClock(),
					Protocol: p, Types: types, Weight: 1})
				must.Succeed(t, err)
				behind := func() { // b hears of nothing for a second
					way.Freeze()
					time.AfterFunc(time.Second, way.Thaw)
				}
				behind()
				must.Succeed(t, a.Submit(ctx, "job", rota.Task{Type: "slow"}))
				if err := b.Wait(ctx, "job"); err != nil || runs.Load() != 1 {
					t.Errorf("after %d runs: %v", runs.Load(), err)
				}
				behind()
				must.Succeed(t, a.SubmitAgain(ctx, "job", rota.Task{Type: "slow"}))
				if err := b.Wait(ctx, "job"); err != nil || runs.Load() != 2 {
					t.Errorf("after %d runs, the job again: %v", runs.Load(), err)
				}
				behind()
				must.Succeed(t, a.Submit(ctx, "hourly", rota.Task{Type: "check", Every: time.Hour}))
				if err := b.RunNow(ctx, "hourly"); err != nil {
					t.Error(err)
				}
				wantEnd(t, b.Wait(ctx, "nobody's"), "unknown")
				way.Freeze() // in an outage what is known counts, after a while
				began := time.Now()
				if err := b.Wait(ctx, "job"); err != nil || time.Since(began) > 5*time.Second {
					t.Errorf("while the store does not answer: %v after %v", err, time.Since(began))
				}
				way.Thaw()
				way.Lose()
				if err := b.Wait(ctx, "nobody's"); !errors.Is(err, store.ErrClosed) {
					t.Errorf("without a store: %v", err)
				}
				_ = b.Leave(ctx) // the store is closed, as it says
				must.Succeed(t, way.Close())
				wantEnd(t, b.Wait(ctx, "nobody's"), "unknown")
			})
		})
	}
}

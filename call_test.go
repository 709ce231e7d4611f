package rota_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
)

type pair struct{ A, B int }

func TestCallsFail(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		var runs atomic.Int64
		quick := rota.FuncOptions{Attempts: 3, Backoff: time.Millisecond}
		fail := rota.NewFunc("fail", func(_ context.Context, how string) (int, error) {
			switch runs.Add(1); how {
			case "panic":
				panic("no luck")
			case "for good":
				return 0, rota.Permanent(errors.New("never"))
			}
			return 0, errors.New("not today")
		}, quick)
		big := rota.NewFunc("big", func(context.Context, int) (string, error) {
			return strings.Repeat("x", 70_000), nil
		}, quick)
		slow := rota.NewFunc("slow", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, rota.FuncOptions{Attempts: 2, Backoff: -1, Timeout: 20 * time.Millisecond})
		a := joinAs(t, ctx, s, rota.Config{Member: "a", Slots: 4, Functions: []rota.Function{fail, big, slow}})
		for _, c := range []struct {
			how, want string
			runs      int64
		}{
			{"panic", "panic: no luck", 3}, {"for good", "never", 1}, {"", "not today", 3},
		} {
			runs.Store(0)
			call, err := fail.Submit(ctx, a, c.how)
			must.Succeed(t, err)
			_, err = call.Wait(ctx)
			var e *rota.CallError
			if !errors.As(err, &e) || e.Message != c.want || e.Attempts != c.runs || runs.Load() != c.runs ||
				e.Member != "a" || errors.Is(err, rota.ErrTimeout) {
				t.Errorf("%s: got %v after %d runs", c.how, err, runs.Load())
			}
		}
		call, err := big.Submit(ctx, a, 1)
		must.Succeed(t, err)
		if _, err = call.Wait(ctx); err == nil ||
			!strings.Contains(err.Error(), "the result has 70002 bytes, at most 65536") {
			t.Errorf("got %v", err)
		}
		late, err := slow.Submit(ctx, a, 1)
		must.Succeed(t, err)
		if _, err = late.Wait(ctx); !errors.Is(err, rota.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	})
}

// A call that has a key is submitted once, however often a client of the same name submits it; one with a delay waits.
func TestCallsWithAKeyOrADelay(t *testing.T) {
	virtual(t, func(t *testing.T, limited context.Context) {
		ctx := context.WithoutCancel(limited) // it takes longer, in virtual time
		s := memory.New()
		var runs atomic.Int64
		count := rota.NewFunc("count", func(context.Context, int) (int64, error) { return runs.Add(1), nil })
		joinAs(t, ctx, s, rota.Config{Member: "a", Slots: 2, Functions: []rota.Function{count}})
		client := func(name string) *rota.Client {
			st := s.Open()
			c := must.Get(rota.Open(st, rota.ClientOptions{Name: name}))(t)
			t.Cleanup(func() { c.Close(context.Background()); st.Close() })
			return c
		}
		one, again, other := client("importer"), client("importer"), client("exporter")
		keyed := count.With(rota.FuncOptions{Key: "2026-11-22/daily import"})
		ids := make(map[string]bool)
		for _, c := range []*rota.Client{one, again, one, other} {
			call := must.Get(keyed.Submit(ctx, c, 1))(t)
			ids[call.ID()] = true
			time.Sleep(10 * time.Second) // waits: in virtual time, so that it has ended before the next one
		}
		if len(ids) != 2 || runs.Load() != 2 {
			t.Errorf("%d calls and %d runs of two clients", len(ids), runs.Load())
		}
		if _, err := rota.NewFunc("sum", func(context.Context, int) (int, error) { return 0, nil },
			rota.FuncOptions{Key: "2026-11-22/daily import"}).Submit(ctx, one, 1); err == nil {
			t.Error("another function under the same key was accepted")
		}
		began := time.Now()
		call := must.Get(count.With(rota.FuncOptions{Delay: time.Minute}).Submit(ctx, one, 1))(t)
		must.Succeed(t, must.Err(call.Wait(ctx)))
		if took := time.Since(began); took < time.Minute || took > 70*time.Second {
			t.Errorf("a call with a delay of a minute took %s", took)
		}
	})
}

package rota_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

type pair struct{ A, B int }

func TestCallReturnsItsResult(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		add := rota.NewFunc("add", func(_ context.Context, p pair) (int, error) { return p.A + p.B, nil })
		a := joinAs(t, ctx, s, rota.Config{Member: "a", Slots: 2, Functions: []rota.Function{add}})
		joinAs(t, ctx, s, rota.Config{Member: "b", Slots: 2, Functions: []rota.Function{add}})
		c, err := rota.Open(s.Open(), rota.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		for i := range 20 {
			for _, to := range []rota.CallTarget{a, c} {
				call, err := add.Submit(ctx, to, pair{i, 2})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := call.Wait(ctx); err != nil || got != i+2 {
					t.Fatalf("got %d, %v", got, err)
				}
			}
		}
	})
}

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
		big := rota.NewFunc("big", func(context.Context, int) (string, error) { return strings.Repeat("x", 70_000), nil }, quick)
		slow := rota.NewFunc("slow", func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
			rota.FuncOptions{Attempts: 2, Backoff: -1, Timeout: 20 * time.Millisecond})
		a := joinAs(t, ctx, s, rota.Config{Member: "a", Slots: 4, Functions: []rota.Function{fail, big, slow}})
		for _, c := range []struct {
			how, want string
			runs      int64
		}{
			{"panic", "panic: no luck", 3}, {"for good", "never", 1}, {"", "not today", 3},
		} {
			runs.Store(0)
			call, err := fail.Submit(ctx, a, c.how)
			if err != nil {
				t.Fatal(err)
			}
			_, err = call.Wait(ctx)
			var e *rota.CallError
			if !errors.As(err, &e) || e.Message != c.want || e.Attempts != c.runs || runs.Load() != c.runs || e.Member != "a" || errors.Is(err, rota.ErrTimeout) {
				t.Errorf("%s: got %v after %d runs", c.how, err, runs.Load())
			}
		}
		call, err := big.Submit(ctx, a, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = call.Wait(ctx); err == nil || !strings.Contains(err.Error(), "the result has 70002 bytes, at most 65536") {
			t.Errorf("got %v", err)
		}
		late, err := slow.Submit(ctx, a, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = late.Wait(ctx); !errors.Is(err, rota.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	})
}

package rota_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// TestNamesOfMembers: members and others share locks by name; what a member holds is free when it has left.
func TestNamesOfMembers(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		server, clock := memory.New(), protocol.NewProcessClock()
		m, err := rota.Join(ctx, rota.Config{Member: "a", Store: server.Open(), Clock: clock})
		must.Succeed(t, err)
		other, err := rota.OpenLocks(server.Open(), rota.LocksOptions{Owner: "b", Clock: clock})
		must.Succeed(t, err)
		defer other.Close(ctx)
		held, err := m.Lock("x").Acquire(ctx)
		must.Succeed(t, err)
		text, err := json.Marshal(m.Lock("x"))
		must.Succeed(t, err)
		var l rota.Lock
		must.Succeed(t, json.Unmarshal(text, &l))
		if _, err := l.On(other).TryAcquire(ctx); !errors.Is(err, rota.ErrHeld) {
			t.Fatalf("try what a member holds: %v", err)
		}
		if s, err := l.On(other).State(ctx); err != nil || len(s.Holders) != 1 || s.Holders[0].Owner != "a" {
			t.Errorf("%+v, %v", s, err)
		}
		must.Succeed(t, m.Status("x").Put(ctx, held.Token(), "at work"))
		must.Succeed(t, m.Leave(ctx))
		if held.Err() == nil {
			t.Error("it holds the lock though it has left")
		}
		next, err := l.On(other).Acquire(ctx)
		if err != nil || next.Token() <= held.Token() {
			t.Fatalf("%v after %d, %v", next, held.Token(), err)
		}
		if err := other.Status("x").Put(ctx, next.Token(), "mine"); err != nil {
			t.Error(err)
		}
		if err := other.Status("x").Put(ctx, held.Token(), "late"); !errors.Is(err, rota.ErrStale) {
			t.Errorf("a report of the former holder: %v", err)
		}
		if s, err := other.Semaphore("y", 2).TryAcquire(ctx); err != nil || s.Token() != 1 {
			t.Errorf("%v, %v", s, err)
		}
	})
}

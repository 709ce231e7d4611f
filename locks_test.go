package rota_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// watching notes what is watched.
type watching struct {
	*memory.Store
	mu       sync.Mutex
	prefixes map[string]bool
}

func (s *watching) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefixes[prefix] = true
	return s.Store.Watch(ctx, prefix)
}

// TestLocksWakeNoMember: what locks write is nowhere where a member looks for hints.
func TestLocksWakeNoMember(t *testing.T) {
	for _, p := range []rota.Protocol{replica.Protocol{}, lease.Protocol{}, leader.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual(t, func(t *testing.T, ctx context.Context) {
				server, clock := memory.New(), protocol.NewProcessClock()
				s := &watching{Store: server.Open(), prefixes: make(map[string]bool)}
				m, err := rota.Join(ctx, rota.Config{Member: "a", Store: s, Protocol: p, Clock: clock})
				must.Succeed(t, err)
				time.Sleep(5 * time.Second) // waits: virtual time, until it watches as a member and as a leader
				before := keys(t, s)
				locks, err := rota.OpenLocks(server.Open(), rota.LocksOptions{Clock: clock})
				must.Succeed(t, err)
				_, err = locks.Lock("x").Acquire(ctx)
				must.Succeed(t, err)
				_, err = locks.Semaphore("y", 2).Acquire(ctx)
				must.Succeed(t, err)
				written := slices.DeleteFunc(keys(t, s), func(key string) bool { return slices.Contains(before, key) })
				if len(written) != 3 {
					t.Errorf("locks wrote %q", written)
				}
				must.Succeed(t, locks.Close(ctx))
				must.Succeed(t, m.Leave(ctx))
				for prefix := range s.prefixes {
					if i := slices.IndexFunc(written,
						func(key string) bool { return strings.HasPrefix(key, prefix) }); i >= 0 {
						t.Errorf("a member watches %s, where locks write %s", prefix, written[i])
					}
				}
			})
		})
	}
}

func keys(t *testing.T, s store.Docs) (out []string) {
	t.Helper()
	docs := must.Get(s.List(t.Context(), ""))(t)
	for _, d := range docs {
		out = append(out, d.Key)
	}
	return out
}

// TestNamesOfMembers: members and others share locks by name; what a member holds is free when it has left.
func TestNamesOfMembers(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		server, clock := memory.New(), protocol.NewProcessClock()
		m := must.Get(rota.Join(ctx, rota.Config{Member: "a", Store: server.Open(), Clock: clock}))(t)
		other := must.Get(rota.OpenLocks(server.Open(), rota.LocksOptions{Owner: "b", Clock: clock}))(t)
		defer other.Close(ctx)
		held := must.Get(m.Lock("x").Acquire(ctx))(t)
		text := must.Get(json.Marshal(m.Lock("x")))(t)
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

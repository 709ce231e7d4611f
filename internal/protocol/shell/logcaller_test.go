package shell_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// noSnapshots is a store that takes none while it is full, and notes where it was trimmed.
type noSnapshots struct {
	*memory.Store
	full    bool
	trimmed []uint64
}

func (s *noSnapshots) SaveSnapshot(ctx context.Context, r store.Record) error {
	if s.full {
		return store.ErrUnavailable
	}
	return s.Store.SaveSnapshot(ctx, r)
}

func (s *noSnapshots) Trim(ctx context.Context, index uint64) error {
	s.trimmed = append(s.trimmed, index)
	return s.Store.Trim(ctx, index)
}

func logCallerOf(s protocol.Store) *shell.LogCaller {
	return shell.NewLogCaller(protocol.Config{Member: "m", Store: s, TTL: time.Second,
		Logger: slog.New(slog.DiscardHandler), Clock: protocol.NewProcessClock()})
}

// TestNothingIsTrimmedWithoutASnapshot: who joins later has nothing else to begin with.
func TestNothingIsTrimmedWithoutASnapshot(t *testing.T) {
	t.Parallel()
	s := &noSnapshots{Store: memory.New().Open(), full: true}
	c := logCallerOf(s)
	var v cluster.Value
	for range 3 {
		e := cluster.Entry{Index: v.Index() + 1, Writer: "w", Seq: uint64(v.Index()) + 1,
			Commands: []cluster.Command{cluster.KillJob{Job: "none"}}}
		must.Succeed(t, must.Err(s.Append(t.Context(), e.Encode())))
		v, _ = v.Apply(e)
	}
	for full, want := range map[bool]string{true: "[]", false: "[2]"} { // order-free: each on its own store
		s.full, s.trimmed = full, nil
		ev := c.Call(t.Context(), member.SaveSnapshot{Value: v, TrimTo: 2})
		if _, ok := ev.(member.SnapshotSaved); !ok || fmt.Sprint(s.trimmed) != want {
			t.Errorf("the store is full: %t; %T, trimmed at %v, want %s", full, ev, s.trimmed, want)
		}
	}
}

// TestTheChainOfALog: the hash after an entry is that of all entries up to it; after the last one where the log ends
// before.
func TestTheChainOfALog(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	c := logCallerOf(s)
	want := []member.Point{{}}
	for i := range 3 {
		data := []byte{byte(i)}
		index := cluster.Index(must.Get(s.Append(t.Context(), data))(t))
		want = append(want, member.Point{Index: index, Chain: cluster.Chained(want[i].Chain, index, data)})
	}
	for at, want := range map[cluster.Index]member.Point{0: want[0], 1: want[1], 2: want[2], 3: want[3], 9: want[3]} {
		got, ok := c.Call(t.Context(), member.CheckLog{At: at}).(member.LogChecked)
		if !ok || got.Asked != at || got.Has != want || got.Err != "" {
			t.Errorf("at %d: %+v, want %+v", at, got, want)
		}
	}
}

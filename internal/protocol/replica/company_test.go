package replica_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// joint is a store without hints that reads the log and documents in one request.
type joint struct {
	store.Full
	mu    sync.Mutex
	gets  int
	withs [][]string
	fail  error // of the documents and the log
}

func (j *joint) Get(ctx context.Context, key string) (store.Doc, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gets++
	return j.Full.Get(ctx, key)
}

func (j *joint) ReadWith(ctx context.Context, after uint64, limit int, keys []string) (store.Page, []store.Doc, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.withs = append(j.withs, keys)
	if j.fail != nil {
		return store.Page{}, nil, j.fail
	}
	docs, err := store.GetAll(ctx, j.Full, keys)
	if err != nil {
		return store.Page{}, nil, err
	}
	page, err := j.Full.Read(ctx, after, limit)
	return page, docs, err
}

// TestARoutineLookGoesWithTheLog: it waits for the next read of the log, but not for long; any other look goes at once.
func TestARoutineLookGoesWithTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		j := &joint{Full: struct{ store.Full }{memory.New().Open()}}
		clock := protocol.NewProcessClock()
		c := replica.NewCaller(shell.NewLogCaller(protocol.Config{
			Member: "m", Store: j, TTL: ttl, Logger: slog.New(slog.DiscardHandler), Clock: clock,
		}))
		v, err := j.Put(t.Context(), store.Doc{Key: "pulse/o/n"})
		if err != nil {
			t.Fatal(err)
		}
		look := func(routine bool) (seen replica.HeartbeatSeen, took time.Duration) {
			from := time.Now()
			seen = c.Call(t.Context(), replica.CheckHeartbeat{Key: "pulse/o/n", Routine: routine}).(replica.HeartbeatSeen)
			return seen, time.Since(from)
		}
		later := func(d time.Duration) {
			time.AfterFunc(d, func() { c.Call(t.Context(), member.ReadLog{}) })
		}
		if seen, took := look(false); seen.Version != v || took != 0 || j.gets != 1 {
			t.Errorf("at once: %+v after %s, %d gets", seen, took, j.gets)
		}
		later(ttl / 20)
		if seen, took := look(true); seen.Version != v || took != ttl/20 || j.gets != 1 || len(j.withs) != 1 {
			t.Errorf("with the log: %+v after %s, %d gets, %q", seen, took, j.gets, j.withs)
		}
		if seen, took := look(true); seen.Version != v || took != ttl/10 || j.gets != 2 || len(j.withs) != 1 {
			t.Errorf("nobody reads the log: %+v after %s, %d gets, %q", seen, took, j.gets, j.withs)
		}
		j.fail = errors.New("away")
		later(ttl / 20)
		if seen, _ := look(true); seen.Err == "" {
			t.Errorf("the store is away: %+v", seen)
		}
	})
}

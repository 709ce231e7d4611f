package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

func (b *bench[S]) mayCrash(t *testing.T) {
	t.Helper()
	if b.reach.Crash == nil {
		t.Fatal("Reach.Crash is nil: give a way to kill the server and to start it again")
	}
}

// calm runs clients whose links are whole, while the server is killed and started again.
func (b *bench[S]) calm(t *testing.T, s *storm, call func(ctx context.Context, client S, number, n int, r *rand.Rand)) {
	t.Helper()
	for i := range stormThrough {
		handle := b.reach.Direct(t)
		s.client(b.ctx, i, func(ctx context.Context, n int, r *rand.Rand) { call(ctx, handle, i, n, r) })
	}
	for range 3 {
		s.over(400 * time.Millisecond)
		b.reach.Crash(t)
		s.count("server killed")
	}
	s.over(400 * time.Millisecond)
	close(s.stop)
	s.clients.Wait()
	t.Logf("%d operations, %d of them with unknown outcome; faults %v", len(s.h.ops), s.open.Load(), s.counts)
}

// docsCrash kills the server: what was acknowledged is there afterwards, and all that was seen fits one order.
func docsCrash[S store.Docs](t *testing.T, b *bench[S]) {
	b.mayCrash(t)
	v := put(t, b.ctx, b.witness, "f/a", "one", "")
	s := newStorm(t)
	calls := s.docsCalls()
	b.calm(t, s, func(ctx context.Context, client S, number, n int, r *rand.Rand) { calls(ctx, client, number, n, r) })
	b.warm(t, b.witness)
	wantDoc(t, b.ctx, b.witness, "f/a", "one", v)
	put(t, b.ctx, b.witness, "f/a", "two", v)
	s.checkDocs(t, b.ctx, b.witness)
}

func logCrash[S store.Log](t *testing.T, b *bench[S]) {
	b.mayCrash(t)
	s := newStorm(t)
	calls := s.logCalls()
	b.calm(t, s, func(ctx context.Context, client S, number, n int, r *rand.Rand) { calls(ctx, client, number, n, r) })
	b.warmLog(t, b.witness)
	s.checkLog(t, b.ctx, b.witness)
	appendTo(t, b.ctx, b.witness, fmt.Sprint("after ", s.seed))
}

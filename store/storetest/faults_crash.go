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

// calm runs clients of each storm, whose links are whole, while the server is killed and started again.
func (b *bench[S]) calm(t *testing.T, storms map[*storm]calling[S]) {
	t.Helper()
	for s, call := range storms {
		for i := range stormThrough {
			handle := b.reach.Direct(t)
			s.client(b.ctx, i, func(ctx context.Context, n int, r *rand.Rand) { call(ctx, handle, i, n, r) })
		}
	}
	const calm = 400 * time.Millisecond
	for range 3 {
		until(calm, func() bool { return false }) // waits: the clients work
		b.reach.Crash(t)
	}
	for s := range storms {
		s.over(calm)
		close(s.stop)
		s.clients.Wait()
		t.Logf("%d operations, %d of them with unknown outcome", len(s.h.ops), s.open.Load())
	}
}

// keptCrash kills the server: what was acknowledged is there afterwards, and all that was seen of the documents and of the log fits one order.
func keptCrash[S store.Full](t *testing.T, b *bench[S]) {
	b.mayCrash(t)
	v := put(t, b.ctx, b.witness, "f/a", "one", "")
	docs, log := newStorm(t), newStorm(t)
	calls, _ := docsCalls[S](docs, 6)
	b.calm(t, map[*storm]calling[S]{docs: calls, log: logCalls[S](log)})
	b.warm(t, b.witness)
	wantDoc(t, b.ctx, b.witness, "f/a", "one", v)
	put(t, b.ctx, b.witness, "f/a", "two", v)
	docs.checkDocs(t, b.ctx, b.witness)
	b.warmLog(t, b.witness)
	log.checkLog(t, b.ctx, b.witness)
	appendTo(t, b.ctx, b.witness, fmt.Sprint("after ", log.seed))
}

// emptiedCrash kills the server when all was trimmed and deleted: what was given before is not given again.
func emptiedCrash[S store.Full](t *testing.T, b *bench[S]) {
	b.mayCrash(t)
	s, last, seen := b.through, uint64(0), map[store.Version]bool{}
	for range 2 {
		indexes := fill(t, b.ctx, s, 3)
		v := put(t, b.ctx, s, "e", "x", "")
		if indexes[0] <= last || seen[v] {
			t.Fatalf("index %d after %d, version %q: it came back", indexes[0], last, v)
		}
		last, seen[v] = indexes[2], true
		succeed(t, "delete", s.Delete(b.ctx, "e", v))
		save(t, b.ctx, s, last, "all")
		succeed(t, "trim", s.Trim(b.ctx, last))
		b.reach.Crash(t)
		again(t, b.ctx, "snapshot", func(ctx context.Context) error { _, err := s.Snapshot(ctx); return err })
		if page := read(t, b.ctx, s, last, 1); page.Head != last {
			t.Fatalf("the head is %d, all was trimmed up to %d", page.Head, last)
		}
		page, err := s.Read(b.ctx, last-1, 1)
		back := err == nil && len(page.Records) == 1 && page.Records[0].Index == last && string(page.Records[0].Data) == "r2"
		if !back { // a crash may undo the trim, and not in part
			wantError(t, "read of what was trimmed", err, store.ErrTruncated)
		}
		wantSnapshot(t, b.ctx, s, last, "all")
	}
}

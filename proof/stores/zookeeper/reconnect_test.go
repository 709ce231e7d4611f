package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// TestReconnects resets the connection of a handle that holds watches again and again, while calls wait for it. The
// watches must go on, and the client library must hold none itself: it would set them again after each reconnect, and
// read its state without a lock (which the race detector reports).
func TestReconnects(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	direct := openWith(t, o)
	through, link, tap := openTapped(t, o)
	ctx := rig.LongDeadline(t)
	docs := must.Get(through.Watch(ctx, "w/"))(t)
	log := must.Get(through.WatchLog(ctx))(t)
	v, err := direct.Put(ctx, store.Doc{Key: "w/a"})
	must.Succeed(t, err)
	busy := keepAsking(ctx, through)
	for range 20 {
		before := len(tap.granted())
		link.Reset()
		rig.Eventually(t, "the handle is connected again", func() bool { return len(tap.granted()) > before })
		rig.Drain(docs)
		rig.Drain(log)
		if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			t.Fatal(err)
		}
		must.Succeed(t, must.Err(direct.Append(ctx, nil)))
		rig.Hinted(t, docs)
		rig.Hinted(t, log)
	}
	if err := through.Close(); err != nil { // while calls wait
		t.Errorf("close: %v", err)
	}
	busy()
	if n := tap.counts()[opSetWatches]; n > 0 {
		t.Errorf("the library set its own watches %d times", n)
	}
}

// keepAsking makes calls from several goroutines until the store is closed; wait waits for their end.
func keepAsking(ctx context.Context, s *zookeeper.Store) (wait func()) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = s.Get(ctx, "w/a") // any outcome is fine
				if _, err := s.Read(ctx, 0, 1); errors.Is(err, store.ErrClosed) {
					return
				}
			}
		})
	}
	return wg.Wait
}

// TestCloseWhileMakingFolders closes handles while they make folders. No answer may be read that the library is still
// filling (which the race detector reports).
func TestCloseWhileMakingFolders(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.LongDeadline(t)
	for round := range 40 {
		s, begun, closed := openWith(t, o), make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case begun <- struct{}{}:
					case <-closed:
						return
					}
					_, _ = s.Put(ctx, store.Doc{Key: fmt.Sprintf("%d-%d-%d/a", round, i, n)}) // any outcome is fine
				}
			})
		}
		for range 8 + round {
			<-begun
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		close(closed)
		wg.Wait()
	}
}

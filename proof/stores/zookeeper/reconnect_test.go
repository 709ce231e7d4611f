package zookeeper_test

import (
	"context"
	"fmt"
	. "github.com/rota-run/rota/store/zookeeper"
	"sync"
	"testing"

	"github.com/rota-run/rota/store"
)

// TestReconnects resets the connection of a handle that holds watches again and again, while calls wait for it: the client library must not be brought to
// look at its state without a lock (which it does when it holds watches itself; the race detector sees it), and the watches must go on.
func TestReconnects(t *testing.T) {
	t.Parallel()
	o := Options{Servers: servers(t), Path: freshPath(t)}
	direct := openWith(t, o)
	tap := listenTap(t, o.Servers[0])
	o.Servers = []string{tap.addr()}
	through, link := openThrough(t, o)
	ctx := longDeadline(t)
	docs, err := through.Watch(ctx, "w/")
	if err != nil {
		t.Fatal(err)
	}
	log, err := through.WatchLog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	v, err := direct.Put(ctx, store.Doc{Key: "w/a"})
	if err != nil {
		t.Fatal(err)
	}
	busy := keepAsking(ctx, through)
	for range 20 {
		before := through.link.generation()
		link.Reset()
		until(t, "there is a connection again", func() bool { return through.link.generation() > before })
		drainHints(docs)
		drainHints(log)
		if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			t.Fatal(err)
		}
		if _, err := direct.Append(ctx, nil); err != nil {
			t.Fatal(err)
		}
		wantHint(t, docs, "a change")
		wantHint(t, log, "an append")
	}
	if err := through.Close(); err != nil { // while calls wait
		t.Errorf("close: %v", err)
	}
	busy()
	if n := tap.counts()[opSetWatches]; n > 0 {
		t.Errorf("the library set watches of its own %d times", n)
	}
}

// keepAsking makes calls all the time, some at once, until the store is closed; the function that it returns waits for that.
func keepAsking(ctx context.Context, s *Store) (wait func()) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !s.isClosed() && ctx.Err() == nil {
				_, _ = s.Get(ctx, "w/a") // any outcome will do
				_, _ = s.Read(ctx, 0, 1)
			}
		})
	}
	return wg.Wait
}

func drainHints(hints <-chan struct{}) {
	select {
	case <-hints:
	default:
	}
}

// TestCloseWhileMakingFolders closes handles while they make folders: nobody may read an answer that the library is still filling.
func TestCloseWhileMakingFolders(t *testing.T) {
	t.Parallel()
	o, ctx := Options{Servers: servers(t), Path: freshPath(t)}, longDeadline(t)
	for round := range 40 {
		s, begun := openWith(t, o), make(chan struct{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case begun <- struct{}{}:
					case <-s.link.closing:
						return
					}
					_, _ = s.Put(ctx, store.Doc{Key: fmt.Sprintf("%d-%d-%d/a", round, i, n)}) // any outcome will do
				}
			})
		}
		for range 8 + round {
			<-begun
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		wg.Wait()
	}
}

package zookeeper

import (
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

func wantHint(t *testing.T, hints <-chan struct{}, after string) {
	t.Helper()
	select {
	case _, open := <-hints:
		if !open {
			t.Fatalf("the watch ended; wanted a hint after %s", after)
		}
	case <-time.After(patience):
		t.Fatalf("no hint after %s", after)
	}
}

// TestWatchesOutliveTheSession cuts a handle off for so long that the servers forget its session, and with it ZooKeeper's watches.
func TestWatchesOutliveTheSession(t *testing.T) {
	t.Parallel()
	o := Options{Servers: servers(t), Path: freshPath(t)}
	direct := openWith(t, o)
	o.Session = time.Second // a busy machine may break it at any time, so it only watches
	through, link := openThrough(t, o)
	ctx := deadline(t)
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
	before := through.link.conn.SessionID()
	link.Refuse()
	link.Stall()
	time.Sleep(3 * time.Second) // waits: the load is the silence; the servers end the session meanwhile
	for len(docs) > 0 {
		<-docs
	}
	for len(log) > 0 {
		<-log
	}
	if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
		t.Fatal(err)
	}
	if _, err := direct.Append(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := link.Heal(); err != nil {
		t.Fatal(err)
	}
	wantHint(t, docs, "a change while the handle was cut off")
	wantHint(t, log, "an append while the handle was cut off")
	if after := through.link.conn.SessionID(); after == before {
		t.Fatalf("the session %x is still the same: nothing was shown", after)
	}
	for _, what := range []string{"a change", "another change"} {
		until(t, "the watch is quiet", func() bool {
			select {
			case <-docs:
				return false
			case <-log:
				return false
			default:
				return true
			}
		})
		if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			t.Fatal(err)
		}
		wantHint(t, docs, what)
		if _, err := direct.Append(ctx, nil); err != nil {
			t.Fatal(err)
		}
		wantHint(t, log, what)
	}
}

package zookeeper_test

import (
	. "github.com/rota-run/rota/store/zookeeper"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

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
	witness := raw(t, servers(t))
	node := "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")
	var before int64
	until(t, "the handle's session has a node", func() bool {
		if _, err := through.link.conn.Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
			return false
		}
		there, stat, err := witness.Exists(node)
		if err == nil && there {
			before = stat.EphemeralOwner
		}
		return before != 0
	})
	link.Refuse()
	link.Stall()
	until(t, "the servers have ended the session", func() bool {
		there, _, err := witness.Exists(node)
		return err == nil && !there
	})
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

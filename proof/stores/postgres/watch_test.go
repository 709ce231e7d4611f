package postgres_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
)

// TestWatchOutlivesItsConnection writes while a watch is cut off, or while its server says nothing.
func TestWatchOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	o := options(t)
	link := rig.Link(t, o.Hosts[0])
	behind, direct, ctx := openWith(t, through(o, link.Addr())), openWith(t, o), rig.LongDeadline(t)
	docs, err := behind.Watch(ctx, "w/")
	must.Succeed(t, err)
	log, err := behind.WatchLog(ctx)
	must.Succeed(t, err)
	<-docs
	<-log
	var v store.Version
	for _, break_ := range []func(){link.Cut, link.Reset, link.Cut} {
		break_()
		if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			t.Fatal(err)
		}
		if _, err := direct.Append(ctx, []byte("x")); err != nil {
			t.Fatal(err)
		}
		rig.Heal(t, link)
		rig.Hinted(t, docs)
		rig.Hinted(t, log)
	}
}

// TestSilentServer: a connection on which the server says nothing any more is replaced, and the watch goes on.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	o := options(t)
	link := rig.Link(t, o.Hosts[0])
	behind, direct, ctx := openWith(t, through(o, link.Addr())), openWith(t, o), rig.LongDeadline(t)
	docs, err := behind.Watch(ctx, "")
	must.Succeed(t, err)
	<-docs
	before := link.Stats().Accepted
	link.DropReplies()
	rig.Eventually(t, "another connection is tried", func() bool { return link.Stats().Accepted > before })
	if _, err := direct.Put(ctx, store.Doc{Key: "a"}); err != nil {
		t.Fatal(err)
	}
	rig.Heal(t, link)
	rig.Hinted(t, docs)
}

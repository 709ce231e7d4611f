package etcd_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
)

// TestWatchOutlivesItsHistory writes while a watch is cut off, and lets the server forget the history of that.
func TestWatchOutlivesItsHistory(t *testing.T) {
	t.Parallel()
	o := onServer(t, server.Options{}) // other tests on the shared server need its history
	link := rig.Link(t, o.Endpoints[0])
	direct, s, r := openWith(t, o), openWith(t, through(o, link.Addr())), rawOf(t, o)
	ctx := rig.Deadline(t)
	hints, err := s.Watch(ctx, "w/")
	must.Succeed(t, err)
	rig.Hinted(t, hints)
	var v store.Version
	for range 3 {
		link.Cut()
		v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v})
		must.Succeed(t, err)
		must.Succeed(t, must.Err(r.Compact(ctx, r.revision(t))))
		rig.Heal(t, link)
		rig.Hinted(t, hints)
	}
}

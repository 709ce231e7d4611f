package etcd_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
)

// TestWatchOutlivesItsConnection writes while a watch is cut off, and lets the server forget the history of that.
func TestWatchOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	for name, compact := range map[string]bool{"kept": false, "compacted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			if compact { // other tests on the shared server need its history
				o = on(startCluster(t, server.Options{NoSync: true}))
			}
			link := rig.Link(t, o.Endpoints[0])
			direct, s, r := openWith(t, o), openWith(t, through(o, link.Addr())), rawOf(t, o)
			ctx := rig.Deadline(t)
			docs, err := s.Watch(ctx, "w/")
			must.Succeed(t, err)
			log, err := s.WatchLog(ctx)
			must.Succeed(t, err)
			<-docs
			<-log
			var v store.Version
			for range 3 {
				link.Cut()
				if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
					t.Fatal(err)
				}
				if _, err := direct.Append(ctx, record); err != nil {
					t.Fatal(err)
				}
				if compact {
					if _, err := r.Compact(ctx, r.revision(t)); err != nil {
						t.Fatal(err)
					}
				}
				rig.Heal(t, link)
				rig.Hinted(t, docs)
				rig.Hinted(t, log)
			}
		})
	}
}

package zookeeper_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// newest returns the newest session that was granted to a client of a tap.
func newest(tap *tap) uint64 {
	granted := tap.granted()
	return granted[len(granted)-1]
}

// cutOff returns what a handle is reached through, and cuts it off until the servers have ended its session. They end
// sessions in the order of their last signs of life plus their timeouts: so a session that began later, has a longer
// timeout and is cut off too ends later.
func cutOff(t *testing.T, link *faultproxy.Proxy, session time.Duration) {
	t.Helper()
	link.Refuse()
	link.Stall()
	later := rig.Link(t, servers(t)[0])
	watched := nodes{raw(t, []string{later.Addr()}, 2*session), ""}
	node := "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")
	watched.create(t, node, nil, zk.FlagEphemeral)
	later.Stall()
	witness := raw(t, servers(t), 10*time.Second)
	rig.Eventually(t, "the servers have ended the later session", func() bool {
		there, _, err := witness.Exists(node)
		return err == nil && !there
	})
}

// TestWatchesOutliveTheSession cuts a handle off for so long that the servers end its session, and with it ZooKeeper's
// watches.
func TestWatchesOutliveTheSession(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	direct := openWith(t, o)
	o.Session = time.Second // a pause of a busy machine may end it at any time, so this handle only watches
	through, link, tap := openTapped(t, o)
	ctx := rig.Deadline(t)
	docs := must.Get(through.Watch(ctx, "w/"))(t)
	log := must.Get(through.WatchLog(ctx))(t)
	v, err := direct.Put(ctx, store.Doc{Key: "w/a"})
	must.Succeed(t, err)
	before := newest(tap)
	cutOff(t, link, o.Session)
	rig.Drain(docs)
	rig.Drain(log)
	if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, must.Err(direct.Append(ctx, nil)))
	must.Succeed(t, link.Heal())
	rig.Hinted(t, docs)
	rig.Hinted(t, log)
	if after := newest(tap); after == before {
		t.Fatalf("the session %x is still the same: the test has shown nothing", after)
	}
	for range 2 {
		rig.Eventually(t, "the watch is quiet", func() bool {
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
		rig.Hinted(t, docs)
		must.Succeed(t, must.Err(direct.Append(ctx, nil)))
		rig.Hinted(t, log)
	}
}

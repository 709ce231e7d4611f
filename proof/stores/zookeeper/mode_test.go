package zookeeper_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// readsAtLeader is how many reads at a leader are looked at, after it has said that it leads.
const readsAtLeader = 50

// TestReadsAtTheLeader: each makes a transaction, because the leader lets a sync pass.
func TestReadsAtTheLeader(t *testing.T) {
	t.Parallel()
	c, ctx := threeServers(t), rig.Deadline(t)
	tap := listenTap(t, c.Servers()[must.Get(c.Leader(ctx))(t)])
	s := openWith(t, zookeeper.Options{Servers: []string{tap.addr()}, Path: freshPath(t)})
	read := func() (syncs, transactions int) {
		t.Helper()
		before := tap.counts()
		must.Succeed(t, must.Err(s.Read(ctx, 0, 1)))
		asked := tap.since(before)
		return asked[opSync], asked[opMulti]
	}
	rig.Eventually(t, "the leader was asked for its mode", func() bool { read(); return tap.modesTold() > 0 })
	for range readsAtLeader {
		if syncs, transactions := read(); syncs != 0 || transactions != 1 {
			t.Fatalf("a read at the leader made %d syncs and %d transactions, want a transaction", syncs, transactions)
		}
	}
}

// TestSilentNode connects to one of three nodes, which falls silent and closes nothing. The handle notices that and
// uses another one, while the first is still silent.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Path: freshPath(t), Session: 4 * time.Second}
	var links []*faultproxy.Proxy
	links, o.Servers = rig.Links(t, threeServers(t).Servers())
	s := openWith(t, o)
	v := must.Get(s.Put(rig.Deadline(t), store.Doc{Key: "a", Value: []byte("x")}))(t)
	for _, link := range links { // the handle has one connection
		if link.Stats().Open > 0 {
			link.Stall()
		}
	}
	rig.Answers(t, s, "a", v)
}

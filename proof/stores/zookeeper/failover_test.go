package zookeeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// TestSilentNode connects to one of three nodes, which then becomes silent and closes nothing. The handle notices that and uses another one, while the
// first is still silent.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{Nodes: 3})
	o := zookeeper.Options{Path: freshPath(t), Session: 4 * time.Second}
	var links []*faultproxy.Proxy
	for _, e := range c.Servers() {
		p, err := faultproxy.Listen(context.Background(), e)
		must.Succeed(t, err)
		t.Cleanup(func() { p.Close() })
		links, o.Servers = append(links, p), append(o.Servers, p.Addr())
	}
	s := openWith(t, o)
	v, err := s.Put(rig.Deadline(t), store.Doc{Key: "a", Value: []byte("x")})
	must.Succeed(t, err)
	for _, link := range links { // the handle has one connection
		if link.Stats().Open > 0 {
			link.Stall()
		}
	}
	begun, asked, answers := time.Now(), 0, 0
	for ctx := rig.LongDeadline(t); answers < 30; asked++ { // in a row
		one, cancel := context.WithTimeout(ctx, 2*time.Second) // a busy machine may need it, and a node that is silent needs more
		d, err := s.Get(one, "a")
		cancel()
		answers++
		if err != nil || d.Version != v {
			answers = 0
			time.Sleep(10 * time.Millisecond) // waits: between two attempts, with a deadline
		}
		if ctx.Err() != nil {
			t.Fatalf("a node is silent, and is still used %v later: %v", time.Since(begun), err)
		}
	}
	t.Logf("a silent node was not used any more after %v and %d calls", time.Since(begun).Round(time.Millisecond), asked-30)
}

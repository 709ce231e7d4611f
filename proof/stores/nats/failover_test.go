package nats_test

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/nats"
)

// TestSilentNode connects through a link to one of three nodes, which falls silent without closing anything: the handle notices and asks another one
// while the link is still broken.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	c, err := server.Spawn(rig.LongDeadline(t), server.Options{Dir: t.TempDir(), Nodes: 3})
	must.Succeed(t, err)
	t.Cleanup(c.Stop)
	must.Succeed(t, c.Await(rig.Deadline(t)))
	o := nats.Options{Bucket: bucket(), Timeout: 5 * time.Second} // the default
	var links []*faultproxy.Proxy
	for _, e := range c.URLs() {
		p := proxyTo(t, e)
		links, o.URLs = append(links, p), append(o.URLs, "nats://"+p.Addr())
	}
	s := openWith(t, o)
	v := put3(t, s, "a", "x", "")
	for _, link := range links { // the client has one connection, over one of them; the nodes have sent it their own addresses too
		link.Stall()
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
			t.Fatalf("a node is silent, and is still asked %v later: %v", time.Since(begun), err)
		}
	}
	t.Logf("a node silent: not asked any more after %v and %d calls", time.Since(begun).Round(time.Millisecond), asked-30)
}

package etcd_test

import (
	"context"
	"errors"
	. "github.com/rota-run/rota/store/etcd"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/store"
)

// writeOnce makes a document through a cluster that may change its leader.
func writeOnce(t *testing.T, s *Store, key string) (v store.Version) {
	t.Helper()
	eventually(t, "a leader takes the write", func() bool {
		var err error
		if v, err = s.Put(deadline(t), store.Doc{Key: key, Value: []byte("x")}); err == nil {
			return true
		}
		if !errors.Is(err, store.ErrConflict) { // our own, whose answer was lost
			return false
		}
		d, err := s.Get(deadline(t), key)
		v = d.Version
		return err == nil
	})
	return v
}

// TestSilentNode connects through links to three nodes, of which one falls silent without closing anything: the handle notices and asks the others,
// while the link is still broken.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	c, err := server.StartCluster(deadline(t), server.Options{Dir: t.TempDir(), Nodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	o := options()
	o.Endpoints, o.Timeout = nil, 0
	var links []*faultproxy.Proxy
	for _, e := range c.Endpoints() {
		p, err := faultproxy.Listen(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		links, o.Endpoints = append(links, p), append(o.Endpoints, p.Addr())
	}
	s := openWith(t, o)
	v := writeOnce(t, s, "a")
	links[0].Stall()
	begun, asked, answers := time.Now(), 0, 0
	for ctx := longDeadline(t); answers < 30; asked++ { // in a row: calls take turns among the nodes
		one, cancel := context.WithTimeout(ctx, 2*time.Second) // a busy machine may need it, and a node that is silent needs more
		d, err := s.Get(one, "a")
		cancel()
		answers++
		if err != nil || d.Version != v {
			answers = 0
			time.Sleep(10 * time.Millisecond) // waits: between two attempts, with a deadline
		}
		if ctx.Err() != nil {
			t.Fatalf("a node is silent, and still asked %v later: %v", time.Since(begun), err)
		}
	}
	t.Logf("a node silent: not asked any more after %v and %d calls", time.Since(begun).Round(time.Millisecond), asked-30)
}

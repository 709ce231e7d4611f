package etcd_test

import (
	"context"
	. "github.com/rota-run/rota/store/etcd"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestChunksAreRemovedBehindTheCaller has a server that is slow to remove what nobody needs: the caller, whose time is over, does not wait for that.
func TestChunksAreRemovedBehindTheCaller(t *testing.T) {
	t.Parallel()
	p, s, direct := throughProxy(t)
	if _, err := direct.client.Put(deadline(t), s.keys.chunk(1, "dead", 0), "half"); err != nil {
		t.Fatal(err)
	}
	chunks := func() int64 {
		r, err := direct.client.Get(deadline(t), s.keys.chunks(), clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return r.Count
	}
	if _, err := s.Read(deadline(t), 0, 1); err != nil { // there is a connection
		t.Fatal(err)
	}
	p.StallRequests()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.dropChunks(ctx, s.keys.chunks(), "")
	if n := chunks(); n != 1 {
		t.Errorf("%d chunks while no request arrives, want 1", n)
	}
	heal(t, p)
	eventually(t, "the chunk is removed", func() bool { return chunks() == 0 })
}

package zookeeper_test

import (
	. "github.com/rota-run/rota/store/zookeeper"
	"testing"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/store"
)

// TestBarriers looks at what is asked of each of three servers: a sync is enough where the server follows; the leader lets it pass.
func TestBarriers(t *testing.T) {
	t.Parallel()
	c, ctx := ownServers(t, server.Options{Nodes: 3}), deadline(t)
	leader, err := c.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, addr := range c.Servers() {
		tap := listenTap(t, addr)
		s := openWith(t, Options{Servers: []string{tap.addr()}})
		want := map[bool]string{true: "leader", false: "follower"}[i == leader]
		until(t, "the handle knows the mode of its server", func() bool {
			if _, err := s.Read(ctx, 0, 1); err != nil {
				t.Fatal(err)
			}
			s.link.mu.Lock()
			defer s.link.mu.Unlock()
			return s.link.teller.mode == want
		})
		before := tap.counts()
		if _, err := s.Read(ctx, 0, 1); err != nil {
			t.Fatal(err)
		}
		after := tap.counts()
		if syncs, multis := after[opSync]-before[opSync], after[opMulti]-before[opMulti]; syncs+multis != 1 || (multis == 1) != (i == leader) {
			t.Errorf("a read at the %s made %d syncs and %d transactions", want, syncs, multis)
		}
	}
}

// TestReadsBehindWritesElsewhere writes at one server and reads at another one, again and again: each read sees the write before it, at the leader too.
func TestReadsBehindWritesElsewhere(t *testing.T) {
	t.Parallel()
	c, ctx := ownServers(t, server.Options{Nodes: 3}), longDeadline(t)
	path := freshPath(t)
	var handles []*Store
	for _, addr := range c.Servers() {
		handles = append(handles, openWith(t, Options{Servers: []string{addr}, Path: path}))
	}
	v := store.Version("")
	for i := range 300 {
		writer, reader := handles[i%3], handles[(i/3+i+1)%3]
		var err error
		if v, err = writer.Put(ctx, store.Doc{Key: "a", Version: v}); err != nil {
			t.Fatal(err)
		}
		d, err := reader.Get(ctx, "a")
		if err != nil || d.Version != v {
			t.Fatalf("read %d: version %q, %v; want %q", i, d.Version, err, v)
		}
	}
}

package zookeeper_test

import (
	"testing"

	"github.com/rota-run/rota/store"
	. "github.com/rota-run/rota/store/zookeeper"
)

// TestFoldersAreContainers: servers remove them when they are empty. A node does not say that it is one, so what is asked for is looked at.
func TestFoldersAreContainers(t *testing.T) {
	t.Parallel()
	tap, ctx := listenTap(t, servers(t)[0]), deadline(t)
	s := openWith(t, Options{Servers: []string{tap.addr()}, Path: freshPath(t)})
	before := tap.counts()
	if _, err := s.Put(ctx, store.Doc{Key: "a/b"}); err != nil {
		t.Fatal(err)
	}
	if c := tap.counts(); c[opCreateContainer] != 1 || c[opCreate] != before[opCreate] {
		t.Errorf("asked for %v, before for %v: want a container", c, before)
	}
}

package zookeeper_test

import (
	"testing"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// TestFoldersAreContainers checks that folders are made as nodes that servers remove when they are empty. A node does not say that it is one, so the
// requests are counted.
func TestFoldersAreContainers(t *testing.T) {
	t.Parallel()
	tap, ctx := listenTap(t, servers(t)[0]), rig.Deadline(t)
	s := openWith(t, zookeeper.Options{Servers: []string{tap.addr()}, Path: freshPath(t)})
	before := tap.counts()
	if _, err := s.Put(ctx, store.Doc{Key: "a/b"}); err != nil {
		t.Fatal(err)
	}
	if got := tap.since(before); got[opCreateContainer] != 1 || got[opCreate] != 0 {
		t.Errorf("asked for %v, want a container", got)
	}
}

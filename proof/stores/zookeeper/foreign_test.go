package zookeeper_test

import (
	"errors"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// TestWhatSomebodyElseWrote: a node that somebody made or changed with the servers' shell is a document with that text.
// It can be changed and deleted like any other, and does not keep the others of its folder from being read.
func TestWhatSomebodyElseWrote(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	for _, key := range []string{"a/1", "a/2"} {
		must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: key, Value: []byte("ours")})))
	}
	former := must.Get(s.Get(ctx, "a/1"))(t)
	must.Succeed(t, must.Err(below.Set(below.below("rows/+d+a/1"), []byte("theirs"), -1)))
	below.create(t, below.below("rows/+d+a/3"), []byte("theirs too"), 0)
	docs, err := s.List(ctx, "a/")
	if err != nil || len(docs) != 3 || string(docs[0].Value) != "theirs" || string(docs[1].Value) != "ours" ||
		string(docs[2].Value) != "theirs too" {
		t.Fatalf("listed %q, %v", docs, err)
	}
	if _, err := s.Put(ctx, store.Doc{Key: "a/1", Value: []byte("late"), Version: former.Version}); !errors.Is(err,
		store.ErrConflict) {
		t.Errorf("put over a version that is gone: %v", err)
	}
	v := must.Get(s.Put(ctx, store.Doc{Key: "a/1", Value: []byte("ours again"), Version: docs[0].Version}))(t)
	if _, err := s.Put(ctx, store.Doc{Key: "a/1", Value: []byte("twice"), Version: docs[0].Version}); !errors.Is(err,
		store.ErrConflict) {
		t.Errorf("put over it once more: %v", err)
	}
	if d, err := s.Get(ctx, "a/1"); err != nil || d.Version != v || string(d.Value) != "ours again" {
		t.Errorf("got %q, %v", d, err)
	}
	if err := s.Delete(ctx, "a/1", v); err != nil {
		t.Error(err)
	}
	if err := s.Delete(ctx, "a/3", docs[2].Version); err != nil {
		t.Error(err)
	}
	if docs, err := s.List(ctx, "a/"); err != nil || len(docs) != 1 {
		t.Errorf("left are %q, %v", docs, err)
	}
}

// TestFoldersGoWithTheirDocuments creates a document again after the servers have removed its empty folder.
func TestFoldersGoWithTheirDocuments(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	v := must.Get(s.Put(ctx, store.Doc{Key: "a/b/c"}))(t)
	must.Succeed(t, s.Delete(ctx, "a/b/c", v))
	below.remove(t, below.below(rowsNode+"/+d+a+b")) // as the servers do some time later
	if _, err := s.Put(ctx, store.Doc{Key: "a/b/c"}); err != nil {
		t.Errorf("put where the folder has gone: %v", err)
	}
}

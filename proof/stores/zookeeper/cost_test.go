package zookeeper_test

import (
	. "github.com/rota-run/rota/store/zookeeper"
	"maps"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/store"
)

// TestWhatReadsCost counts what a handle asks its server for. Where that follows others, a change that is hinted at and looked at costs a sync and a read, which
// leaves the watch, and a look at what is watched and has not changed costs a sync. Where it stands alone both cost a read.
func TestWhatReadsCost(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		read := map[int32]int{opGetData: 1}
		whatReadsCost(t, ownServers(t, server.Options{}).Servers()[0], read, read)
	})
	t.Run("follower", func(t *testing.T) {
		t.Parallel()
		c := ownServers(t, server.Options{Nodes: 3})
		leader, err := c.Leader(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		whatReadsCost(t, c.Servers()[(leader+1)%3], map[int32]int{opSync: 1}, map[int32]int{opSync: 1, opGetData: 1})
	})
}

func whatReadsCost(t *testing.T, addr string, same, changed map[int32]int) {
	t.Helper()
	o, ctx := Options{Servers: []string{addr}, Path: freshPath(t)}, deadline(t)
	other := openWith(t, o)
	tap := listenTap(t, o.Servers[0])
	o.Servers = []string{tap.addr()}
	s := openWith(t, o)
	v, err := other.Put(ctx, store.Doc{Key: "w/a"})
	if err != nil {
		t.Fatal(err)
	}
	s.hub.mu.Lock()
	s.hub.look = time.Hour // so that nobody else arms
	s.hub.mu.Unlock()
	docs, err := s.Watch(ctx, "w/")
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.WatchLog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	get := func() error { _, err := s.Get(ctx, "w/a"); return err }
	read := func() error { _, err := s.Read(ctx, 0, 1); return err }
	until(t, "the watches are armed and the server has told what it is", func() bool {
		if get() != nil || read() != nil {
			return false
		}
		s.link.mu.Lock()
		told := s.link.teller.mode != ""
		s.link.mu.Unlock()
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		for w := range s.hub.watches {
			told = told && !w.dirty && !w.owed
		}
		return told
	})
	drainHints(docs)
	drainHints(log)
	wantCost := func(what string, look func() error, want map[int32]int) {
		t.Helper()
		before := tap.counts()
		if err := look(); err != nil {
			t.Fatal(err)
		}
		got := tap.counts()
		for op, n := range before {
			if got[op] -= n; got[op] == 0 {
				delete(got, op)
			}
		}
		delete(got, opPing)
		if !maps.Equal(got, want) {
			t.Errorf("%s: asked for %v, want %v", what, got, want)
		}
	}
	wantCost("a document without news", get, same)
	wantCost("the log without news", read, same)
	for range 3 {
		if v, err = other.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			t.Fatal(err)
		}
		wantHint(t, docs, "a change")
		wantCost("a document that has changed", get, changed)
		wantCost("a document without news", get, same)
	}
}

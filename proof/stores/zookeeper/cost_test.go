package zookeeper_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// TestWhatReadsCost counts the requests of a handle. At a follower, reading what is watched and has not changed costs a
// sync; reading it after a hint of a change costs a sync and a read, which leaves the watch. At a single server each
// costs a read.
func TestWhatReadsCost(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		read := map[int32]int{opGetData: 1}
		whatReadsCost(t, ownServers(t, server.Options{}).Servers()[0], read, read)
	})
	t.Run("follower", func(t *testing.T) {
		t.Parallel()
		c := threeServers(t)
		leader := must.Get(c.Leader(rig.Deadline(t)))(t)
		whatReadsCost(t, c.Servers()[(leader+1)%3], map[int32]int{opSync: 1}, map[int32]int{opSync: 1, opGetData: 1})
	})
}

// What is not read within a tenth of a second after a hint, the handle reads itself, which costs more. So a busy
// machine may miss the price in a round; a price that is too high is missed in all.
const (
	cheapRounds = 3 // in a row
	mostRounds  = 100
)

func whatReadsCost(t *testing.T, addr string, same, changed map[int32]int) {
	t.Helper()
	o, ctx := zookeeper.Options{Servers: []string{addr}, Path: freshPath(t)}, rig.Deadline(t)
	other := openWith(t, o)
	tap := listenTap(t, addr)
	s := openWith(t, zookeeper.Options{Servers: []string{tap.addr()}, Path: o.Path})
	v := must.Get(other.Put(ctx, store.Doc{Key: "w/a"}))(t)
	must.Succeed(t, must.Err(other.Append(ctx, []byte("first"))))
	docs, err := s.Watch(ctx, "w/")
	must.Succeed(t, err)
	must.Succeed(t, must.Err(s.WatchLog(ctx)))
	below := nodes{path: o.Path}
	spots := []string{
		below.below(rowsNode), below.below(rowsNode + "/+d+w"), below.below(rowsNode + "/+d+w/a"),
		below.below(rowsNode + "/+l+main"), below.below(headNode),
	}
	rig.Eventually(t, "the watches are armed", func() bool {
		return !slices.ContainsFunc(spots, func(path string) bool { return !tap.isArmed(path) })
	})
	cost := func(look func() error) map[int32]int {
		t.Helper()
		before := tap.counts()
		must.Succeed(t, look())
		return tap.since(before)
	}
	get := func() error { _, err := s.Get(ctx, "w/a"); return err }
	read := func() error { _, err := s.Read(ctx, 1, 1); return err }
	change := func() error {
		rig.Drain(docs)
		if v, err = other.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			return err
		}
		rig.Hinted(t, docs)
		return get()
	}
	var costs []map[int32]int
	for cheap := 0; cheap < cheapRounds; cheap++ {
		if len(costs) == 3*mostRounds {
			t.Fatalf("after a change, without one, of the log: asked for %v; want %v, %v, %v", costs[:12], changed,
				same, same)
		}
		round := []map[int32]int{cost(change), cost(get), cost(read)}
		if !maps.Equal(round[0], changed) || !maps.Equal(round[1], same) || !maps.Equal(round[2], same) {
			cheap = -1
		}
		costs = append(costs, round...)
	}
	t.Logf("%d rounds for %d cheap ones in a row", len(costs)/3, cheapRounds)
}

// TestWhatWritesCost counts the requests of a handle without watches: an append, a write and a heartbeat are a
// transaction each, and a page of the log is a read of each record behind one of the head. A folder is made as a node
// that the servers remove when it is empty: a node does not say that it is one.
func TestWhatWritesCost(t *testing.T) {
	t.Parallel()
	tap, ctx := listenTap(t, ownServers(t, server.Options{}).Servers()[0]), rig.Deadline(t)
	o := zookeeper.Options{Servers: []string{tap.addr()}, Path: freshPath(t), Session: time.Minute}
	s, reader := openWith(t, o), openWith(t, o)
	owned := openSession(t, s, rig.Patience)
	var v, beat store.Version
	ops := []struct {
		name string
		do   func() error
		want map[int32]int
	}{
		{"append", func() error { _, err := s.Append(ctx, []byte("x")); return err }, map[int32]int{opMulti: 1}},
		{"put", func() (err error) {
			v, err = s.Put(ctx, store.Doc{Key: "a/b", Version: v})
			return err
		}, map[int32]int{opMulti: 1}},
		{"heartbeat", func() (err error) {
			beat, err = owned.Put(ctx, store.Doc{Key: "a/c", Version: beat})
			return err
		}, map[int32]int{opMulti: 1}},
		{"read of four records", func() error { _, err := reader.Read(ctx, 0, 4); return err },
			map[int32]int{opGetData: 5}},
		{"look without news", func() error { _, err := reader.Read(ctx, 4, 4); return err },
			map[int32]int{opGetData: 1}},
	}
	for round := range 4 { // the first ones make folders, and find heads
		for _, op := range ops {
			before := tap.counts()
			must.Succeed(t, op.do())
			got := tap.since(before)
			if round == 0 && op.name == "put" && (got[opCreateContainer] != 1 || got[opCreate] != 0) {
				t.Errorf("for a folder it asked for %v, want a container", got)
			}
			if round == 3 && !maps.Equal(got, op.want) {
				t.Errorf("%s: asked for %v, want %v", op.name, got, op.want)
			}
		}
	}
}

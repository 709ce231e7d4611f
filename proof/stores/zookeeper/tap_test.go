package zookeeper_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// What requests ask for: the numbers of ZooKeeper's protocol.
const (
	opCreate          = 1
	opGetData         = 4
	opSync            = 9
	opPing            = 11
	opGetChildren2    = 12
	opMulti           = 14
	opCreateContainer = 19
	opSetWatches      = 101 // asked for by a library that holds watches itself
)

// askMode is the command that asks a server what it is. It comes on a connection of its own, without a handshake.
const askMode = "srvr"

// tap passes connections on to a server, and records what clients ask for and which sessions they get.
type tap struct {
	address string

	mu       sync.Mutex
	asked    map[int32]int    // requests, by what they ask for
	armed    map[string]bool  // paths of reads that left a watch
	before   map[int32]func() // called before a request is passed on
	sessions []uint64         // granted, one for each handshake
	modes    int              // questions what the server is, that were answered
}

func listenTap(t testing.TB, target string) *tap {
	t.Helper()
	tp := &tap{asked: make(map[int32]int), armed: make(map[string]bool), before: make(map[int32]func())}
	tp.address = rig.Front(t, target, tp.pass)
	return tp
}

func (tp *tap) addr() string { return tp.address }

// counts returns how often each kind of request was made so far.
func (tp *tap) counts() map[int32]int {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return maps.Clone(tp.asked)
}

// since returns how often each kind of request was made after an earlier count, without pings.
func (tp *tap) since(before map[int32]int) map[int32]int {
	got := tp.counts()
	maps.DeleteFunc(got, func(op int32, n int) bool { return op == opPing || n == before[op] })
	for op := range got {
		got[op] -= before[op]
	}
	return got
}

// see returns something of a tap that changes with time.
func see[T any](tp *tap, what func(*tap) T) T {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return what(tp)
}

func (tp *tap) modesTold() int    { return see(tp, func(tp *tap) int { return tp.modes }) }
func (tp *tap) granted() []uint64 { return see(tp, func(tp *tap) []uint64 { return tp.sessions }) }

// isArmed reports whether a read of a path left a watch.
func (tp *tap) isArmed(path string) bool {
	return see(tp, func(tp *tap) bool { return tp.armed[path] })
}

// on calls fn each time before a request of a kind is passed on.
func (tp *tap) on(op int32, fn func()) {
	see(tp, func(tp *tap) bool { tp.before[op] = fn; return true })
}

// pass passes a connection on until either side ends it.
func (tp *tap) pass(client, server net.Conn) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(client, length); err != nil {
		return
	}
	if string(length) == askMode {
		if _, err := server.Write(length); err != nil {
			return
		}
		_, _ = io.Copy(client, server) // the server closes after its answer
		see(tp, func(tp *tap) int { tp.modes++; return tp.modes })
		return
	}
	var over sync.WaitGroup
	over.Go(func() {
		defer client.Close()
		defer server.Close()
		tp.answers(client, server)
	})
	tp.requests(server, io.MultiReader(bytes.NewReader(length), client))
	server.Close()
	over.Wait()
}

// requests passes packets of a client on, the first of which is the handshake.
func (tp *tap) requests(server io.Writer, client io.Reader) {
	for first := true; ; first = false {
		p, err := readPacket(client)
		if err != nil {
			return
		}
		if !first && len(p) >= 12 {
			tp.record(p)
		}
		if _, err := server.Write(p); err != nil {
			return
		}
	}
}

// record counts a request: its length, an id, what it asks for, and for a read the length of a path, the path, and
// whether it leaves a watch.
func (tp *tap) record(p []byte) {
	op := int32(binary.BigEndian.Uint32(p[8:]))
	tp.mu.Lock()
	tp.asked[op]++
	if (op == opGetData || op == opGetChildren2) && p[len(p)-1] == 1 {
		tp.armed[string(p[16:len(p)-1])] = true
	}
	before := tp.before[op]
	tp.mu.Unlock()
	if before != nil {
		before()
	}
}

// answers passes what a server sends on. Its handshake is its length, a version, the timeout, and the session.
func (tp *tap) answers(client io.Writer, server io.Reader) {
	p, err := readPacket(server)
	if err != nil {
		return
	}
	if len(p) >= 20 {
		session := binary.BigEndian.Uint64(p[12:])
		see(tp, func(tp *tap) []uint64 { tp.sessions = append(tp.sessions, session); return tp.sessions })
	}
	if _, err := client.Write(p); err == nil {
		_, _ = io.Copy(client, server) // until either side ends
	}
}

// readPacket reads a packet with its length, which comes first.
func readPacket(r io.Reader) ([]byte, error) {
	p := make([]byte, 4)
	if _, err := io.ReadFull(r, p); err != nil {
		return nil, err
	}
	p = append(p, make([]byte, binary.BigEndian.Uint32(p))...)
	_, err := io.ReadFull(r, p[4:])
	return p, err
}

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
	owned := rig.Session(t, s, rig.Patience)
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

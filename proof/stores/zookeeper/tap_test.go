package zookeeper_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"sync"
	"testing"

	"github.com/rota-run/rota/proof/stores/rig"
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

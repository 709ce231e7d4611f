package zookeeper_test

import (
	"context"
	"encoding/binary"
	. "github.com/rota-run/rota/store/zookeeper"
	"io"
	"net"
	"sync"
	"testing"
)

// tap passes connections on to a server, and counts what clients ask for.
type tap struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	asked map[int32]int // by what requests ask for
	conns []net.Conn
	ended bool
}

// What else is asked for; opSetWatches by a library that holds watches itself.
const (
	opSync       = 9
	opSetWatches = 101
)

func listenTap(t testing.TB, target string) *tap {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tp := &tap{listener: l, target: target, asked: make(map[int32]int)}
	tp.wg.Go(tp.accept)
	t.Cleanup(tp.close)
	return tp
}

func (tp *tap) addr() string { return tp.listener.Addr().String() }

// counts is what was asked for so far.
func (tp *tap) counts() map[int32]int {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	c := make(map[int32]int, len(tp.asked))
	for op, n := range tp.asked {
		c[op] = n
	}
	return c
}

func (tp *tap) accept() {
	for {
		client, err := tp.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).Dial("tcp", tp.target)
		if err != nil {
			client.Close()
			continue
		}
		if !tp.keep(client, server) {
			return
		}
		tp.wg.Go(func() { tp.requests(server, client) })
		tp.wg.Go(func() {
			_, _ = io.Copy(client, server) // until either of them ends
			client.Close()
			server.Close()
		})
	}
}

// keep makes close end the connections too.
func (tp *tap) keep(conns ...net.Conn) bool {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if tp.ended {
		for _, c := range conns {
			c.Close()
		}
		return false
	}
	tp.conns = append(tp.conns, conns...)
	return true
}

// requests passes a client's packets on, the first of which is the handshake.
func (tp *tap) requests(server, client net.Conn) {
	defer server.Close()
	defer client.Close()
	for first := true; ; first = false {
		var length [4]byte
		if _, err := io.ReadFull(client, length[:]); err != nil {
			return
		}
		if first && string(length[:]) == askCommand { // no session
			_, _ = server.Write(length[:])
			_, _ = io.Copy(io.Discard, client)
			return
		}
		p := make([]byte, len(length)+int(binary.BigEndian.Uint32(length[:])))
		copy(p, length[:])
		if _, err := io.ReadFull(client, p[len(length):]); err != nil {
			return
		}
		if r := request(p); !first && r.whole() {
			tp.mu.Lock()
			tp.asked[r.op()]++
			tp.mu.Unlock()
		}
		if _, err := server.Write(p); err != nil {
			return
		}
	}
}

func (tp *tap) close() {
	tp.listener.Close()
	tp.mu.Lock()
	tp.ended = true
	for _, c := range tp.conns {
		c.Close()
	}
	tp.mu.Unlock()
	tp.wg.Wait()
}

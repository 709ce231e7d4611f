package zookeeper_test

import (
	"bytes"
	. "github.com/rota-run/rota/store/zookeeper"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// requestOf is a request of the given kind: the length of what follows the head is not looked at.
func requestOf(op byte, rest ...byte) request {
	return append(request{0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, op}, rest...)
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		packet    request
		reads     spot
		ok        bool
		container bool
	}{
		{"data", requestOf(opGetData, 0, 0, 0, 2, '/', 'a', 0), spot{path: "/a"}, true, false},
		{"children", requestOf(opGetChildren2, 0, 0, 0, 2, '/', 'a', 0), spot{"/a", true}, true, false},
		{"path too short", requestOf(opGetData, 0, 0, 0, 3, '/', 'a', 0), spot{}, false, false},
		{"path too long", requestOf(opGetData, 0, 0, 0, 1, '/', 'a', 0), spot{}, false, false},
		{"no path", requestOf(opGetData), spot{}, false, false},
		{"sync", requestOf(opSync, 0, 0, 0, 2, '/', 'a', 0), spot{}, false, false},
		{"container", requestOf(opCreate, 0, 0, 0, 2, '/', 'a', 0, 0, 0, 4), spot{}, false, true},
		{"ephemeral", requestOf(opCreate, 0, 0, 0, 2, '/', 'a', 0, 0, 0, 1), spot{}, false, false},
		{"nothing created", requestOf(opCreate, 4), spot{}, false, false},
	} {
		at, ok := c.packet.reads()
		if at != c.reads || ok != c.ok || c.packet.container() != c.container {
			t.Errorf("%s: reads %v, %v; container %v", c.name, at, ok, c.packet.container())
		}
	}
}

// FuzzRequests: whatever is written, looking at it does no harm, and what is made of it differs in nothing else.
func FuzzRequests(f *testing.F) {
	f.Add([]byte(requestOf(opGetData, 0, 0, 0, 2, '/', 'a', 0)))
	f.Add([]byte(requestOf(opGetChildren2, 0xff, 0xff, 0xff, 0xff, 1)))
	f.Add([]byte(requestOf(opCreate, 0, 0, 0, 4)))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, before := request(p), bytes.Clone(p)
		if !r.whole() {
			return
		}
		if at, ok := r.reads(); ok {
			got := r.leaving()
			if !bytes.Equal(got[:len(got)-1], p[:len(p)-1]) || got[len(got)-1] != 1 || len(at.path) != len(p)-requestHead-4-watchLength {
				t.Errorf("%x reads %v, and leaves a watch as %x", p, at, got)
			}
		}
		if r.container() {
			if got := r.asking(opCreateContainer); got.op() != opCreateContainer || !bytes.Equal(got[requestHead:], p[requestHead:]) {
				t.Errorf("%x creates a container as %x", p, got)
			}
		}
		if !bytes.Equal(p, before) {
			t.Errorf("%x was changed to %x, and is the library's", before, p)
		}
	})
}

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

// TestAWriteThatFailsIsNotToldTwice: the library answers a request whose write fails, again when the connection has ended, and a third time when its handle
// was closed meanwhile, which nobody takes, so that it never ends. Here it hears of the end by reading alone.
func TestAWriteThatFailsIsNotToldTwice(t *testing.T) {
	t.Parallel()
	q := &quiet{began: time.Now()}
	w := &wire{Conn: q, sent: map[int32]time.Time{}}
	if _, err := w.Write(packet(0, 0, 0)); err != nil { // the handshake
		t.Fatal(err)
	}
	q.closed = true
	p := packet(1, opSync)
	if n, err := w.Write(p); n != len(p) || err != nil {
		t.Errorf("write: %d bytes, %v; want %d and no error", n, err, len(p))
	}
	if len(w.sent) != 1 {
		t.Errorf("%d requests wait for an answer, want 1: it may have been sent", len(w.sent))
	}
}

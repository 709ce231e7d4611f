package zookeeper

import (
	"bytes"
	"testing"
	"time"
)

// opSync is the code of a sync, which the store treats like any other request.
const opSync = 9

// requestOf returns a request of the given kind. The length at its beginning is not looked at.
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

// FuzzRequests looks at any bytes: they are not changed, and a request made from them differs only where it should.
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
			if !bytes.Equal(got[:len(got)-1], p[:len(p)-1]) || got[len(got)-1] != 1 ||
				len(at.path) != len(p)-requestHead-4-watchLength {
				t.Errorf("%x reads %v, and leaves a watch as %x", p, at, got)
			}
		}
		if r.container() {
			if got := r.asking(opCreateContainer); got.op() != opCreateContainer ||
				!bytes.Equal(got[requestHead:], p[requestHead:]) {
				t.Errorf("%x creates a container as %x", p, got)
			}
		}
		if !bytes.Equal(p, before) {
			t.Errorf("%x was changed to %x, although it belongs to the library", before, p)
		}
	})
}

// TestFailedWriteIsReportedByReadsOnly makes a write fail. If the library learned of it from Write, it would answer the
// request at once, again when the connection has ended, and a third time if its handle was closed meanwhile; nobody
// receives the third answer, so the library would block for ever.
func TestFailedWriteIsReportedByReadsOnly(t *testing.T) {
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

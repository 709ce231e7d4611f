package zookeeper

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
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

// quiet is a connection that records when requests are written, and returns a handshake to its reader.
type quiet struct {
	net.Conn
	answer []byte
	began  time.Time
	until  time.Time // of the reader's patience

	mu     sync.Mutex
	asked  []asked
	closed bool
}

type asked struct {
	op int32
	at time.Duration
}

func (q *quiet) Read(p []byte) (int, error) {
	n := copy(p, q.answer)
	q.answer = q.answer[n:]
	return n, nil
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, io.ErrClosedPipe
	}
	q.asked = append(q.asked, asked{request(p).op(), time.Since(q.began)})
	return len(p), nil
}

func (q *quiet) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return nil
}

func (q *quiet) SetReadDeadline(t time.Time) error {
	q.until = t
	return nil
}

// TestPings checks that a ping is sent after three eighths of the timeout without another request, and none after the
// connection was closed; that an answer is one to the oldest ping; and that a handshake gets no more time than it may.
func TestPings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quiet{answer: packet(0, 8000, 7, 8, 0, 0), began: time.Now()}
		var heard time.Duration
		w := &wire{Conn: q, sent: map[int32]time.Time{}, onShake: func(time.Time, time.Duration) {},
			onAnswer: func(sent time.Time) { heard = sent.Sub(q.began) }, patience: time.Second}
		w.Write(packet(0, 0, 0)) // the handshake
		q.asked = nil
		for _, want := range []time.Duration{time.Second, time.Minute} {
			if w.SetReadDeadline(q.began.Add(time.Minute)); q.until.Sub(q.began) != want {
				t.Errorf("an answer may take %v, want %v", q.until.Sub(q.began), want)
			}
			if want == time.Second {
				must.Succeed(t, must.Err(w.Read(make([]byte, 100))))
			}
		}
		pass := func(d time.Duration) {
			time.Sleep(d) // waits: by the clock of the test
			synctest.Wait()
		}
		pass(2 * time.Second)
		w.Write(packet(pingID, opPing)) // the library's
		pass(2500 * time.Millisecond)   // ours at 3 s
		w.Write(packet(1, opSync))      // at 4.5 s
		pass(4 * time.Second)           // ours at 7.5 s
		q.answer = packet(pingID, 0, 0, 0)
		if must.Succeed(t, must.Err(w.Read(make([]byte, 100)))); heard != 3*time.Second {
			t.Errorf("the answer is to what was sent at %v, want 3s", heard)
		}
		q.answer = []byte{4, 0, 0, 1} // the length of an answer, a byte too much
		if _, err := w.Read(make([]byte, 100)); !errors.Is(err, errNotZooKeeper) {
			t.Errorf("the reader makes room for too much: %v", err)
		}
		w.Close()
		pass(time.Minute)
		w.ping() // the timer fired while the connection was being closed
		pass(time.Minute)
		want := []asked{{opPing, 3 * time.Second}, {opSync, 4500 * time.Millisecond}, {opPing, 7500 * time.Millisecond}}
		if !slices.Equal(q.asked, want) {
			t.Errorf("sent %v, want %v", q.asked, want)
		}
	})
}

// TestModes reads answers to srvr: what a server does not say of itself, or says after too many bytes, makes each read
// a transaction.
func TestModes(t *testing.T) {
	t.Parallel()
	const head = "Zookeeper version: 3.9.5\nLatency min/avg/max: 0/0.4/5\nReceived: 12\n"
	for text, want := range map[string]struct {
		mode string
		want remedy
	}{
		head + "Mode: follower\nNode count: 7\n":                      {"follower", bySync},
		head + "Mode: observer\n":                                     {"observer", bySync},
		head + "Mode: standalone":                                     {"standalone", byNothing},
		head + "Mode: leader\nNode count: 7\n":                        {"leader", byTransaction},
		head + "Mode: read-only\n":                                    {"read-only", byTransaction},
		"srvr is not executed because it is not in the whitelist.\n":  {"", byTransaction},
		"This ZooKeeper instance is not currently serving requests\n": {"", byTransaction},
		"": {"", byTransaction},
		strings.Repeat("x", 2*askMost) + "\nMode: follower\n": {"", byTransaction},
	} {
		if got := readMode(strings.NewReader(text)); got != want.mode || remedyOf(got) != want.want {
			t.Errorf("%.100q: mode %q, remedy %v; want %q, %v", text, got, remedyOf(got), want.mode, want.want)
		}
	}
}

// TestHostsInTurn makes attempts that all fail: each server in turn, with growing pauses between rounds. The pause of
// the library, which is longer than some servers are away, comes only when all is given up.
func TestHostsInTurn(t *testing.T) {
	t.Parallel()
	h := &hosts{}
	if err := h.Init([]string{"a", "b", "c"}); err != nil || h.Len() != 3 {
		t.Fatal(err, h.Len())
	}
	for range 2 { // the same once more after a success
		last := ""
		for round, pause := range []int{0, 20, 40, 80, 160, 320, 320, 320} {
			seen := map[string]bool{}
			for i := range 3 {
				server, start := h.Next()
				if server == last || seen[server] {
					t.Fatalf("round %d: %s again after %s", round, server, last)
				}
				seen[server], last = true, server
				if start {
					t.Errorf("round %d, attempt %d: the library pauses and refuses what waits", round, i)
				}
				want := time.Duration(pause) * time.Millisecond
				if i > 0 {
					want = 0
				}
				if got := h.pause(); got != want {
					t.Errorf("round %d, attempt %d: pause %v, want %v", round, i, got, want)
				}
			}
		}
		h.Connected()
	}
	over := make(chan struct{})
	close(over)
	for name, l := range map[string]*link{ // order-free: each by itself
		"closed": {hosts: &hosts{servers: []string{"a"}}, closing: over}, "expired": {hosts: &hosts{servers: []string{"a"}}, expired: over},
	} {
		for range 4 { // in the first rounds there is no pause in which it would hear of that
			l.hosts.Next()
		}
		if err := l.pauseBefore(); !errors.Is(err, errGivenUp) {
			t.Errorf("%s: %v", name, err)
		}
		if _, start := l.hosts.Next(); !start {
			t.Errorf("%s: the library does not look whether it was closed", name)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRoleOfAnotherConnection: what the server of a connection is says nothing of that of the next one.
func TestRoleOfAnotherConnection(t *testing.T) {
	t.Parallel()
	l := &link{gen: 2, up: true, wire: &wire{}, closing: make(chan struct{}),
		o: linkOptions{wait: time.Second, logger: slog.New(slog.DiscardHandler)}}
	l.teller = teller{gen: 1, mode: "standalone", busy: true}
	for _, gen := range []uint64{1, 2} {
		if l.remedy(gen) != byTransaction {
			t.Errorf("a read of connection %d relies on what the server of connection 1 was", gen)
		}
	}
	l.teller.mode = "standalone"
	l.tell(1, "127.0.0.1:1", nil)
	if l.remedy(2) != byNothing {
		t.Error("what is asked of the server of connection 1 is believed of connection 2")
	}
}

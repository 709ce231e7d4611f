package zookeeper

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// errNotZooKeeper is an answer that no ZooKeeper server gives.
var errNotZooKeeper = errors.New("what answers there is not ZooKeeper")

// The parts of ZooKeeper's protocol that this package parses: each packet starts with its length; a request continues
// with an id and its type, an answer with the id of its request. The first packet of each direction is the handshake.
const (
	maxHandshake = 1 << 10  // bytes of the server's handshake, which has about 40
	maxPacket    = 64 << 20 // bytes of an answer: the longest are names of children
)

// wire is one connection to a server. It inspects the traffic, because the client library does not report the session
// timeout that the server granted, when the server last heard of us, or whether it confirmed the end of the session;
// and it would allocate any length in the first four bytes.
//
// It also requests two things that the library can request, but not without data races. A library that holds watches
// (GetW, ChildrenW) sets them again after each reconnect, which we do not need (see hub.event). For that it reads the
// newest transaction id while another goroutine writes it: so this package turns reads into reads with watches, and the
// library holds none. And its CreateContainer reads an answer that is still being filled if the connection is closed
// meanwhile; its Create does not, and this package turns it into the creation of a container.
type wire struct {
	net.Conn
	named    string             // the address that was given
	patience time.Duration      // for the handshake
	leaves   func(at spot) bool // whether a read shall leave a watch; nil: never
	onRead   func()             // a read is written; nil: nobody waits for that
	onShake  func(asked time.Time, timeout time.Duration)
	onIssue  func(i identity) // of the session; nil: nobody wants it
	onAnswer func(sent time.Time)
	onClosed func()

	mu      sync.Mutex // guards the requests, which one goroutine writes and another one reads answers to
	began   time.Time  // of the handshake
	sent    map[int32]time.Time
	closing int32         // id of the request to end the session
	asked   bool          // closing is set
	pinger  *time.Timer   // nil before the handshake
	silence time.Duration // after which it goes off

	frame  frame // of the reading goroutine alone
	shaken bool
}

// Write implements net.Conn. The library writes one packet with each call.
func (w *wire) Write(p []byte) (int, error) {
	r := request(p)
	switch {
	case w.first(r):
		return w.Conn.Write(r)
	case r.ping():
		return len(p), nil
	}
	w.note(r)
	meant := w.mean(r)
	if _, reads := r.reads(); reads && w.onRead != nil {
		w.onRead()
	}
	if _, err := w.Conn.Write(meant); err != nil {
		_ = w.Close() // the library hears of it by reading
	}
	return len(p), nil // were it told here, a request that meets the end of its handle would be answered three times, and the third time blocks it for ever
}

// first reports whether a packet is the handshake, or what is no request.
func (w *wire) first(r request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = time.Now()
		return true
	}
	return !r.whole()
}

// note notes when a request is sent.
func (w *wire) note(r request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, pending := w.sent[r.id()]; !pending { // pings share an id: the oldest counts
		w.sent[r.id()] = time.Now()
	}
	if r.op() == opClose {
		w.closing, w.asked = r.id(), true
	}
	if w.pinger != nil {
		w.pinger.Reset(w.silence)
	}
}

// mean is the request that is meant.
func (w *wire) mean(r request) request {
	if r.container() {
		return r.asking(opCreateContainer)
	}
	if at, ok := r.reads(); ok && w.leaves != nil && w.leaves(at) {
		return r.leaving()
	}
	return r
}

// SetReadDeadline implements net.Conn. The library gives a handshake seven times the session's timeout.
func (w *wire) SetReadDeadline(t time.Time) error {
	if most := time.Now().Add(w.patience); !w.shaken && t.After(most) {
		t = most
	}
	return w.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		var done bool
		rest, done = w.frame.take(rest)
		if w.frame.started() && w.frame.length > w.most() {
			return 0, errNotZooKeeper // before the library allocates so much
		}
		if done {
			w.packet()
			w.frame = frame{}
		}
	}
	return n, err
}

func (w *wire) most() uint32 {
	if w.shaken {
		return maxPacket
	}
	return maxHandshake
}

// packet looks at the head of a packet that was read.
func (w *wire) packet() {
	head := w.frame.head()
	if !w.shaken {
		if len(head) >= 16 && binary.BigEndian.Uint64(head[8:]) != 0 { // session 0: the one that we asked for has expired
			w.shaken = true
			w.mu.Lock()
			began := w.began
			w.mu.Unlock()
			granted := time.Duration(binary.BigEndian.Uint32(head[4:])) * time.Millisecond
			w.onShake(began, granted)
			if i, ok := issued(head); ok && w.onIssue != nil {
				w.onIssue(i)
			}
			w.keepAlive(granted)
		}
		return
	}
	if len(head) < 4 {
		return
	}
	id := int32(binary.BigEndian.Uint32(head)) //nolint:gosec // the protocol's ids are signed
	w.mu.Lock()
	sent, ok := w.sent[id]
	delete(w.sent, id)
	closed := w.asked && id == w.closing
	w.mu.Unlock()
	if ok {
		w.onAnswer(sent)
	}
	if closed {
		w.onClosed()
	}
}

// frame is a packet that is being read: its length, and the beginning of its body.
type frame struct {
	buf    [4 + shakeLength]byte
	got    uint32 // bytes, with the four of the length
	length uint32
}

func (f *frame) started() bool { return f.got >= 4 }

func (f *frame) head() []byte { return f.buf[4:min(uint64(len(f.buf)), 4+uint64(f.length))] }

// take reads what belongs to the packet and returns the rest, and whether the packet is complete.
func (f *frame) take(p []byte) (rest []byte, done bool) {
	for len(p) > 0 && f.got < 4 {
		f.buf[f.got] = p[0]
		f.got++
		p = p[1:]
	}
	if f.got < 4 {
		return nil, false
	}
	f.length = binary.BigEndian.Uint32(f.buf[:])
	missing := uint64(f.length) + 4 - uint64(f.got)
	n := min(missing, uint64(len(p)))
	if f.got < uint32(len(f.buf)) {
		copy(f.buf[f.got:], p[:n])
	}
	f.got += uint32(n) //nolint:gosec // at most the length of a packet
	return p[n:], n == missing
}

// request is a packet that the library writes, as far as it is looked at: the length of the rest, an id, what it asks
// for. A read continues with a path, the length of which comes first, and a byte that says whether it leaves a watch.
// The creation of a node ends with four bytes that say of what kind.
type request []byte

// What requests ask for.
const (
	opCreate          = 1
	opGetData         = 4
	opPing            = 11
	opGetChildren2    = 12
	opCreateContainer = 19
	opClose           = -11
)

const (
	requestHead = 12 // bytes before what depends on the kind of the request
	watchLength = 1
	kindLength  = 4
)

func (r request) whole() bool { return len(r) >= requestHead }
func (r request) id() int32   { return int32(binary.BigEndian.Uint32(r[4:])) } //nolint:gosec // the protocol's numbers are signed
func (r request) op() int32   { return int32(binary.BigEndian.Uint32(r[8:])) } //nolint:gosec // the same

// reads is the spot that a request reads; false for one that reads none.
func (r request) reads() (spot, bool) {
	if op := r.op(); op != opGetData && op != opGetChildren2 {
		return spot{}, false
	}
	path := r[requestHead:]
	if len(path) < 4 || uint64(len(path)) != 4+uint64(binary.BigEndian.Uint32(path))+watchLength {
		return spot{}, false
	}
	return spot{string(path[4 : len(path)-watchLength]), r.op() == opGetChildren2}, true
}

// container reports whether a request creates a container node, and says so only at its end.
func (r request) container() bool {
	return r.op() == opCreate && len(r) >= requestHead+kindLength &&
		binary.BigEndian.Uint32(r[len(r)-kindLength:]) == zk.FlagContainer
}

// asking is a copy of a request that asks for something else.
func (r request) asking(op int32) request {
	c := append(request(nil), r...)
	binary.BigEndian.PutUint32(c[8:], uint32(op)) //nolint:gosec // the protocol's numbers are signed
	return c
}

// leaving is a copy of a read that leaves a watch.
func (r request) leaving() request {
	c := append(request(nil), r...)
	c[len(c)-watchLength] = 1
	return c
}

// A server ends a session if it receives nothing from it for its timeout. The library pings by its own clock, every
// third of the timeout, regardless of other traffic. This package drops those pings, and sends one only after three
// eighths of the timeout without traffic.
//
// That is a bit more than the third after which a member renews its heartbeat, so a session of such a member is not
// pinged at all. It is less than the half within which the server must have heard of a session before a write
// (lease.go), and less than the two thirds after which the library abandons a silent connection.

// pingID is the id of all pings.
const pingID = -2

func pingAfter(timeout time.Duration) time.Duration { return timeout / 8 * 3 }

// ping is what a request looks like that asks for nothing.
func (r request) ping() bool { return r.id() == pingID && r.op() == opPing }

func newPing() request {
	var id, op int32 = pingID, opPing
	r := binary.BigEndian.AppendUint32(nil, requestHead-4)
	r = binary.BigEndian.AppendUint32(r, uint32(id)) //nolint:gosec // the protocol's numbers are signed
	return binary.BigEndian.AppendUint32(r, uint32(op))
}

// keepAlive begins to ping.
func (w *wire) keepAlive(timeout time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silence = pingAfter(timeout)
	w.pinger = time.AfterFunc(w.silence, w.ping)
}

// ping sends a ping. A connection that takes none is closed, which the library notices.
func (w *wire) ping() {
	r := newPing()
	w.note(r)
	if _, err := w.Conn.Write(r); err != nil {
		_ = w.Close() // it may be closed already
	}
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.mu.Lock()
	if w.pinger != nil {
		w.pinger.Stop()
	}
	w.mu.Unlock()
	return w.Conn.Close()
}

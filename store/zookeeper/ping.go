package zookeeper

import (
	"encoding/binary"
	"time"
)

// A server ends a session if it receives nothing from it for its timeout. The library pings by its own clock, every third of the timeout, regardless of other traffic.
// This package drops those pings, and sends one only after three eighths of the timeout without traffic.
//
// That is a bit more than the third after which a member renews its heartbeat, so a session of such a member is not pinged at all. It is less than the half within which
// the server must have heard of a session before a write (lease.go), and less than the two thirds after which the library abandons a silent connection.

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

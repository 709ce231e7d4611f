package faultproxy

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lane carries the bytes of one direction of one connection: one goroutine reads and queues, one waits as the faults
// say and writes.
type lane struct {
	conn     *conn
	proxy    *Proxy
	dir      direction
	src, dst *net.TCPConn
	queue    chan chunk
	chance   *rand.Rand
	held     atomic.Int64 // bytes that were read and neither written nor dropped

	mu sync.Mutex // held while bytes are written and accounted for, so that a fault can wait until none are
}

// chunk is what one read gave: bytes, or the end of the stream.
type chunk struct {
	data []byte
	end  error
	at   time.Time
}

func (l *lane) read() {
	for {
		buf := make([]byte, 32<<10)
		n, err := l.src.Read(buf)
		l.held.Add(int64(n))
		if n > 0 && !l.push(chunk{data: buf[:n], at: time.Now()}) {
			return
		}
		if err != nil {
			l.push(chunk{end: err, at: time.Now()})
			return
		}
	}
}

func (l *lane) push(c chunk) bool {
	select {
	case l.queue <- c:
		return true
	case <-l.conn.done:
		return false
	}
}

func (l *lane) write() {
	for {
		select {
		case c := <-l.queue:
			if !l.delay(c.at) || !l.forward(c.data) {
				return
			}
			if c.end != nil {
				l.end(c.end)
				return
			}
		case <-l.conn.done:
			return
		}
	}
}

// delay waits until bytes that were read at an instant are due; false if the connection has ended.
func (l *lane) delay(at time.Time) bool {
	where := 2*l.chance.Float64() - 1 // in the range of the jitter
	for {
		g := l.proxy.gate(l.dir)
		wait := time.Until(at.Add(g.delay + time.Duration(where*float64(g.jitter))))
		if wait <= 0 {
			return true
		}
		if !l.pause(g, wait) {
			return false
		}
	}
}

// pause waits for a while, for a change of the faults, or for the end of the connection: then it returns false. Without
// a while it waits for the latter two.
func (l *lane) pause(g gate, d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
	case <-g.changed:
	case <-l.conn.done:
		return false
	}
	return true
}

// forward writes or drops all of data; false if that can no longer be.
func (l *lane) forward(data []byte) bool {
	for len(data) > 0 {
		n, g, err := l.step(data)
		data = data[n:]
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // a fault interrupted the write
		case err != nil:
			return false // the other lane reads why, and ends the connection
		case n == 0 && !l.pause(g, 0):
			return false
		case n > 0 && g.rate > 0 && !l.throttle(g, n):
			return false
		}
	}
	return true
}

// step writes or drops some of data, nothing if bytes are held.
func (l *lane) step(data []byte) (int, gate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.proxy.take(l.dir, len(data))
	switch {
	case g.drop, l.dir == replies && l.conn.isDamaged():
		l.conn.damage()
		l.proxy.dropped(len(data))
		l.held.Add(-int64(len(data)))
		return len(data), g, nil
	case g.n == 0 || g.hold:
		return 0, g, nil
	}
	n, err := l.dst.Write(data[:g.n])
	l.held.Add(-int64(n))
	if l.proxy.wrote(l.dir, g.n, n) {
		l.conn.abort() // the others are reset by whom wrote started
	}
	return n, g, err
}

// throttle waits as long as n bytes take.
func (l *lane) throttle(g gate, n int) bool {
	until := time.Now().Add(time.Duration(n) * time.Second / time.Duration(g.rate))
	for wait := time.Until(until); wait > 0; wait = time.Until(until) {
		if !l.pause(g, wait) {
			return false
		}
		if g = l.proxy.gate(l.dir); g.rate == 0 {
			return true
		}
	}
	return true
}

// end passes on that the stream has ended, when the faults let it.
func (l *lane) end(err error) {
	for g := l.proxy.gate(l.dir); g.hold || g.drop; g = l.proxy.gate(l.dir) {
		if !l.pause(g, 0) {
			return
		}
	}
	if !orderly(err) || l.dst.CloseWrite() != nil {
		l.conn.abort()
	}
}

// settle returns when no write of this lane that began before is under way.
func (l *lane) settle() {
	_ = l.dst.SetWriteDeadline(time.Unix(1, 0)) // where the socket is closed, nothing is under way
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.dst.SetWriteDeadline(time.Time{})
}

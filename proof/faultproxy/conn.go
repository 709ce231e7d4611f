package faultproxy

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
)

// direction is a way of bytes: an index into what exists once for each.
type direction int

const (
	requests   direction = iota // from the client to the server
	replies                     // from the server to the client
	directions                  // how many there are
)

// conn is one connection: two sockets, and a lane for each direction.
type conn struct {
	proxy  *Proxy
	number uint64
	client *net.TCPConn
	done   chan struct{} // closed by abort
	gone   chan struct{} // closed when the sockets are closed and the goroutines have ended

	mu      sync.Mutex
	ended   bool
	server  *net.TCPConn // nil until it is connected
	lanes   []*lane
	damaged bool // some bytes were dropped, so that no later one may pass
}

func newConn(p *Proxy, number uint64, client *net.TCPConn) *conn {
	return &conn{proxy: p, number: number, client: client, done: make(chan struct{}), gone: make(chan struct{})}
}

// abort closes a socket so that the other side sees a reset.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0) // where the socket is dead already, neither this nor Close has anything left to do
	_ = c.Close()
}

// abort resets both sides, once, and lets the goroutines end.
func (c *conn) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.done)
	abort(c.client)
	if c.server != nil {
		abort(c.server)
	}
}

// finish closes both sides as they would be by their peers, if nothing reset them before.
func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.done)
	_ = c.client.Close()
	_ = c.server.Close()
}

// run passes bytes until both directions have ended or the connection is reset.
func (c *conn) run(ctx context.Context) {
	server, err := c.dial(ctx)
	if err != nil {
		l := &lane{conn: c, proxy: c.proxy, dir: replies, src: nil, dst: c.client}
		l.end(err)
		c.abort()
		return
	}
	if !c.connect(server) {
		return
	}
	var wg, writers sync.WaitGroup
	for _, l := range c.lanes {
		wg.Go(l.read)
		writers.Go(l.write)
	}
	writers.Wait()
	c.finish()
	wg.Wait()
}

// dial connects to the server; the attempt ends with the connection.
func (c *conn) dial(ctx context.Context) (*net.TCPConn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-done:
		}
	}()
	server, err := (&net.Dialer{Control: abrupt}).DialContext(ctx, "tcp", c.proxy.target)
	if err != nil {
		return nil, err
	}
	return server.(*net.TCPConn), nil
}

// connect takes the server's side; false if the connection has ended meanwhile.
func (c *conn) connect(server *net.TCPConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		abort(server)
		return false
	}
	_ = server.SetLinger(-1) // an orderly end is possible from here on; where the socket is dead already, there is none
	c.server = server
	c.lanes = []*lane{c.lane(requests, c.client, server), c.lane(replies, server, c.client)}
	return true
}

func (c *conn) lane(dir direction, src, dst *net.TCPConn) *lane {
	return &lane{
		conn: c, proxy: c.proxy, dir: dir, src: src, dst: dst,
		queue: make(chan chunk, 64), chance: rand.New(rand.NewPCG(c.number, uint64(dir))),
	}
}

// damage notes that bytes were dropped.
func (c *conn) damage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.damaged = true
}

func (c *conn) isDamaged() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.damaged
}

// running are the lanes, none before the server is connected.
func (c *conn) running() []*lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lanes
}

// orderly tells whether a stream ended as its sender wanted.
func orderly(err error) bool { return errors.Is(err, io.EOF) }

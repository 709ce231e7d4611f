// Package faultproxy is a TCP proxy between a client and a server of which a test breaks the network.
//
// # Purpose
//
// What a client makes of a lost answer, a connection cut in the middle of a request, or a peer that is silent without
// being gone, shows only when it happens. [Listen] stands between the two on a loopback port, in user space, without
// rights and without a tool that has to be installed; the test says when what breaks.
//
// # Guarantees
//
// A method that breaks something returns once it holds: after [Proxy.Stall] returned, no byte passes that had not
// passed before; after [Proxy.Cut] returned, every connection is reset and its sockets are closed. Bytes of one
// direction of a connection never change their order, and none is lost without its connection being reset before the
// next one would pass. The end of a stream and a reset are subject to the same faults as bytes: behind a stall nobody
// learns that the other side is gone.
//
// What a client sent into a stall and then gave up (closed its connection) arrives when the stall ends, as it may on a
// real network.
//
// # What is not guaranteed
//
// The handshake of a new connection is answered by this machine's kernel, so a stalled server can still be connected
// to. Losses, doubling and reordering of packets do not exist above TCP. Whether the other side reads what it was sent
// just before a reset is up to its kernel.
package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/rota-run/rota/internal/proof/port"
)

// Proxy passes connections on to one server. Its methods may be called from any goroutine.
type Proxy struct {
	target string
	addr   string
	ctx    context.Context // of connections: it outlives the call of Listen, and a proxy is opened again by Heal
	stop   context.CancelFunc
	wg     sync.WaitGroup // accept loops and connections

	mu       sync.Mutex
	closed   bool
	listener net.Listener // nil while refusing
	release  func()       // gives up the port, which is kept also while nobody listens there
	accepted uint64
	conns    map[*conn]struct{}
	state    state
	changed  chan struct{}              // closed by the next change of state
	cutting  map[chan struct{}]struct{} // resets of spent budgets that are under way: each is closed when it is over
	stats    Stats
}

// Listen begins to pass connections on to target ("host:port") and returns the proxy, which listens on a loopback port
// that the system chose. It ends when ctx ends or Close is called. The target need not exist yet: a connection that
// cannot be passed on is reset.
func Listen(ctx context.Context, target string) (*Proxy, error) {
	l, release, err := begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", target, err)
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Proxy{
		target: target, addr: l.Addr().String(), ctx: ctx, stop: stop, release: release,
		conns: make(map[*conn]struct{}), changed: make(chan struct{}), cutting: make(map[chan struct{}]struct{}),
		state: newState(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open(l)
	context.AfterFunc(ctx, p.end)
	return p, nil
}

// begin listens at a port that is kept until release.
func begin(ctx context.Context) (_ net.Listener, release func(), err error) {
	addrs, release, err := port.Find(1)
	if err != nil {
		return nil, nil, err
	}
	l, err := listen(ctx, addrs[0])
	if err != nil {
		release()
		return nil, nil, err
	}
	return l, release, nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}

// Addr is where clients connect to, as "host:port". It never changes.
func (p *Proxy) Addr() string { return p.addr }

// Close resets all connections and returns when nothing of the proxy is left. Closing it again does nothing.
func (p *Proxy) Close() error {
	p.stop()
	p.end()
	p.wg.Wait()
	return nil
}

// end closes everything, once.
func (p *Proxy) end() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	if p.listener != nil {
		p.listener.Close()
	}
	p.release()
	p.mu.Unlock()
	p.reset(func(*conn) bool { return true })
}

// open takes connections from l. p.mu is held.
func (p *Proxy) open(l net.Listener) {
	p.listener = l
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			switch {
			case err == nil:
				p.admit(client.(*net.TCPConn))
			case errors.Is(err, net.ErrClosed):
				return
			}
		}
	})
}

// admit begins a connection, or resets it.
func (p *Proxy) admit(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	p.stats.Accepted++
	if p.closed || p.state.cut {
		p.stats.Turned++
		abort(client)
		return
	}
	c := newConn(p, p.accepted, client)
	p.conns[c] = struct{}{}
	p.wg.Go(func() {
		defer p.forget(c)
		c.run(p.ctx)
	})
}

func (p *Proxy) forget(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	close(c.gone)
}

// reset resets the connections that match, and returns when their sockets are closed.
func (p *Proxy) reset(match func(*conn) bool) {
	p.mu.Lock()
	chosen := p.choose(match)
	p.mu.Unlock()
	cut(chosen)
}

// choose counts the connections that match as reset, which is left to the caller. p.mu is held.
func (p *Proxy) choose(match func(*conn) bool) (chosen []*conn) {
	for c := range p.conns {
		if match(c) {
			chosen = append(chosen, c)
		}
	}
	p.stats.Reset += len(chosen)
	return chosen
}

// cut resets connections, and returns when their sockets are closed.
func cut(conns []*conn) {
	for _, c := range conns {
		c.abort()
	}
	for _, c := range conns {
		<-c.gone
	}
}

// Stats counts what happened since Listen.
type Stats struct {
	Accepted int   // connections that clients made
	Turned   int   // of these: reset at once, because of Cut
	Reset    int   // connections that a fault, Heal or Close reset later
	Open     int   // connections now
	Requests int64 // bytes that were passed on to the server
	Replies  int64 // bytes that were passed on to clients
	Dropped  int64 // bytes that were swallowed

	// Bytes that were read and not passed on yet, of connections that are open. Without a fault that holds them there
	// are such too, for a moment: what a stalled direction has is certain, what the other one has is not.
	HeldRequests int64
	HeldReplies  int64
}

func (s *Stats) passed(d direction, n int) {
	if d == requests {
		s.Requests += int64(n)
		return
	}
	s.Replies += int64(n)
}

// Stats tells the counts.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Open = len(p.conns)
	for c := range p.conns {
		if lanes := c.running(); lanes != nil {
			s.HeldRequests += lanes[requests].held.Load()
			s.HeldReplies += lanes[replies].held.Load()
		}
	}
	return s
}

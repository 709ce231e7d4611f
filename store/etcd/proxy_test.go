package etcd

import (
	"net"
	"sync"
	"testing"
)

// proxy stands between a store and a server, and can do to connections what networks do.
type proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	mode  proxyMode
	conns map[net.Conn]struct{}
}

type proxyMode int

const (
	flowing proxyMode = iota
	mute              // requests arrive, answers do not
	deaf              // requests do not arrive, and nobody is told
	closed            // connections are closed as soon as they are made
)

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: make(map[net.Conn]struct{})}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.set(closed) // also those that are just being made
		p.wg.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// set changes the mode; what is connected stays so, but for the mode closed.
func (p *proxy) set(m proxyMode) {
	p.mu.Lock()
	p.mode = m
	p.mu.Unlock()
	if m == closed {
		p.cut()
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}

// heal cuts, since what was swallowed is missing in the streams, and lets everything pass.
func (p *proxy) heal() {
	p.set(closed)
	p.set(flowing)
}

func (p *proxy) is(m proxyMode) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode == m
}

// own notes a connection; false if it must be closed.
func (p *proxy) own(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return p.mode != closed
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		if !p.own(client, server) {
			client.Close()
			server.Close()
			continue
		}
		p.wg.Go(func() { p.pump(server, client, deaf) })
		p.wg.Go(func() { p.pump(client, server, mute) })
	}
}

// pump copies, and swallows while the mode is so.
func (p *proxy) pump(to, from net.Conn, swallow proxyMode) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.is(swallow) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

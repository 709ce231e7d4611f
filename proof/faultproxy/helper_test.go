package faultproxy_test

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that only a failure makes long.
const patience = 60 * time.Second

// server is a server whose connections the test holds in its hands.
type server struct {
	listener net.Listener
	conns    chan *net.TCPConn
}

func serve(t *testing.T) *server {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &server{listener: l, conns: make(chan *net.TCPConn, 16)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns <- c.(*net.TCPConn)
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
		close(s.conns)
		for c := range s.conns {
			c.Close()
		}
	})
	return s
}

func (s *server) conn(t *testing.T) *net.TCPConn {
	t.Helper()
	select {
	case c := <-s.conns:
		t.Cleanup(func() { c.Close() })
		return c
	case <-time.After(patience):
		t.Fatalf("no connection arrived within %v", patience)
		return nil
	}
}

func proxy(t *testing.T, target string) *faultproxy.Proxy {
	t.Helper()
	p := must.Get(faultproxy.Listen(t.Context(), target))(t)
	t.Cleanup(func() { p.Close() })
	return p
}

func dial(t *testing.T, p *faultproxy.Proxy) *net.TCPConn {
	t.Helper()
	c := must.Get(net.Dial("tcp", p.Addr()))(t)
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// pair is a client and the server's end of its connection through a proxy.
func pair(t *testing.T) (p *faultproxy.Proxy, client, far *net.TCPConn) {
	t.Helper()
	s := serve(t)
	p = proxy(t, s.listener.Addr().String())
	client = dial(t, p)
	return p, client, s.conn(t)
}

func send(t *testing.T, c *net.TCPConn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
}

func wantRead(t *testing.T, c *net.TCPConn, text string) {
	t.Helper()
	buf := make([]byte, len(text))
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if n, err := io.ReadFull(c, buf); err != nil || string(buf) != text {
		t.Fatalf("read %q, %v; want %q", buf[:n], err, text)
	}
}

// wantNothing looks whether something arrives in a while that is long for a loopback.
func wantNothing(t *testing.T, c *net.TCPConn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var buf [1]byte
	if n, err := c.Read(buf[:]); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %q, %v; want nothing", buf[:n], err)
	}
}

// wantReset wants an error that is neither the orderly end nor the test's own deadline.
func wantReset(t *testing.T, c *net.TCPConn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, c)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read to the end: %v; want a reset", err)
	}
}

func wantEOF(t *testing.T, c *net.TCPConn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if rest, err := io.ReadAll(c); err != nil || len(rest) != 0 {
		t.Fatalf("read %q, %v; want the orderly end", rest, err)
	}
}

func heal(t *testing.T, p *faultproxy.Proxy) {
	t.Helper()
	must.Succeed(t, p.Heal())
}

// eventually looks until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(time.Millisecond) // waits: between two looks at a condition with a deadline
	}
}

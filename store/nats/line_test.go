package nats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// dialer is what the client calls for a connection.
type dialer func() (net.Conn, error)

func (d dialer) InProcessConn() (net.Conn, error) { return d() }

// TestLine: who listens hears that the connection broke, and who waits that there is one again, however late; then what
// the new server says holds. Meanwhile nothing is kept for later.
func TestLine(t *testing.T) {
	t.Parallel()
	var most, calls atomic.Int64 // bytes that the server takes; 0: it is away
	most.Store(1000)
	conns := make(chan net.Conn, 2)
	l := newLine(slog.New(slog.DiscardHandler))
	o := must.Get(Options{}.withDefaults().client(l))(t)
	o.ReconnectWait, o.ReconnectJitter = time.Millisecond, 0
	o.InProcessServer = dialer(func() (net.Conn, error) {
		if calls.Add(1); most.Load() == 0 {
			return nil, errors.New("tls: x509: certificate has expired or is not yet valid")
		}
		client, server := net.Pipe()
		conns <- server
		go func() {
			fmt.Fprintf(server, `INFO {"version":"2.12.3","max_payload":%d}`+"\r\n", most.Load())
			for lines := bufio.NewScanner(server); lines.Scan(); {
				if lines.Text() == "PING" {
					_, _ = io.WriteString(server, "PONG\r\n") // until either side ends
				}
			}
		}()
		return client, nil
	})
	c := must.Get(o.Connect())(t)
	defer c.Close()
	l.connected(c)
	first := l.current()
	await := func(what string, is func() bool) {
		for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) { // waits: for the client
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	most.Store(0)
	(<-conns).Close()
	await("the client gave up", func() bool { return calls.Load() > 200 })
	if err := c.Publish("x", nil); err == nil || first.Err() == nil || l.whole() {
		t.Errorf("publish %v, who listens heard %v, there is a connection: %v", err, first.Err(), l.whole())
	}
	if err := l.broken(); !strings.Contains(err.Error(), "has expired or is not yet valid (renew the server's") {
		t.Errorf("while there is no connection: %v", err)
	}
	l.mu.Lock()
	back := l.back
	l.mu.Unlock()
	select {
	case <-back:
		t.Error("who waits for a connection went on without one")
	default:
	}
	most.Store(2000)
	await("there is no connection again", l.whole)
	if l.await(t.Context()); l.maxPayload() != 2000 {
		t.Errorf("the server takes %d bytes, want 2000", l.maxPayload())
	}
}

package nats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// greeter is a server in this process, which takes messages of some size, or nobody.
type greeter struct {
	mu   sync.Mutex
	most int // 0: it is away
	open net.Conn
}

// InProcessConn implements the client's InProcessConnProvider.
func (g *greeter) InProcessConn() (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.most == 0 {
		return nil, errors.New("away")
	}
	client, server := net.Pipe()
	g.open = server
	hello := fmt.Sprintf("INFO {\"server_id\":\"x\",\"version\":\"2.12.3\",\"max_payload\":%d}\r\n", g.most)
	go func() {
		_, _ = io.WriteString(server, hello) // until either side ends
		for lines := bufio.NewScanner(server); lines.Scan(); {
			if lines.Text() == "PING" {
				_, _ = io.WriteString(server, "PONG\r\n")
			}
		}
	}()
	return client, nil
}

// becomes has the server break its connection, if it is away from now on, or come back.
func (g *greeter) becomes(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.most = most; most == 0 {
		g.open.Close()
	}
}

// TestLine: who listens hears that the connection broke, and who waits that there is one again, however late; then what
// the new server says holds.
func TestLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, g := newLine(slog.New(slog.DiscardHandler)), &greeter{most: 1000}
		o := must.Get(Options{}.withDefaults().client(l))(t)
		o.InProcessServer = g
		c := must.Get(o.Connect())(t)
		defer c.Close()
		l.connected(c)
		first := l.current()
		g.becomes(0)
		time.Sleep(time.Hour) // waits: in virtual time
		if first.Err() == nil || l.whole() {
			t.Errorf("an hour later, who listens has heard %v, and there is a connection: %v", first.Err(), l.whole())
		}
		if err := c.Publish("x", nil); err == nil {
			t.Error("a message is kept for a later connection")
		}
		back := make(chan struct{})
		go func() { defer close(back); l.await(t.Context()) }()
		synctest.Wait()
		select {
		case <-back:
			t.Error("who waits for a connection got none")
		default:
		}
		g.becomes(2000)
		time.Sleep(time.Minute) // waits: in virtual time
		synctest.Wait()
		select {
		case <-back:
		default:
			t.Error("who waits for a connection waits on")
		}
		if most := l.maxPayload(); !l.whole() || most != 2000 {
			t.Errorf("there is a connection: %v, and it takes %d bytes, want 2000", l.whole(), most)
		}
	})
}

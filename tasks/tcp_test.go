package tasks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work/worktest"
)

// listen serves each connection with talk until the test ends.
func listen(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			talk(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return l.Addr().String()
}

func TestTCP(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(c net.Conn) {
		fmt.Fprint(c, "hello\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		fmt.Fprint(c, "you said ", line)
	})
	h, err := round(t, local, "tcp", object{"addr": addr, "send": "PING\n", "expect": "you said PING"})
	wantUp(t, h, "tcp", err)
	if got := phasesOf(h, "tcp.latency_ms"); !got["connect"] || !got["first_byte"] || !got["total"] {
		t.Errorf("phases %v, want connect, first_byte and total", got)
	}
	h, err = round(t, local, "tcp", object{"addr": addr, "send": "PING\n", "expect": "PONG"})
	wantDown(t, h, "tcp", "answer", err)
}

func TestTCPDown(t *testing.T) {
	t.Parallel()
	silent := listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }) // until the other side gives up
	chatty := listen(t, func(c net.Conn) {
		for _, err := c.Write([]byte(strings.Repeat("x", 4096))); err == nil; _, err = c.Write([]byte(strings.Repeat("x", 4096))) {
		}
	})
	gone := listen(t, func(net.Conn) {})
	for name, c := range map[string]struct {
		addr, reason string
	}{"timeout": {silent, "timeout"}, "endless": {chatty, "answer"}, "closed": {gone, "answer"}, "connect": {"127.0.0.1:1", "connect"}} {
		d := define(t, object{"addr": c.addr, "expect": "never"})
		d.TimeoutMS = 20_000
		if c.addr == silent {
			d.TimeoutMS = 200
		}
		g, h := worktest.NewGrant(t, d)
		if err := worktest.Run(t, Builtin(local)["tcp"], g); err == nil {
			t.Errorf("%s: the round ended well", name)
		}
		if got := h.Last(t, "tcp.failure").Tags["reason"]; got != c.reason {
			t.Errorf("%s: reason is %q, want %q", name, got, c.reason)
		}
	}
}

func TestTCPRefusesInternalAddresses(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(net.Conn) { t.Error("the server was reached") })
	_, port, _ := net.SplitHostPort(addr)
	for _, typ := range []string{"tcp", "tls"} {
		h, err := round(t, Options{}, typ, object{"addr": "localhost:" + port})
		var refused *AddressError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want the address refused", typ, err)
		}
		wantDown(t, h, typ, "refused", err)
	}
}

// An answer comes in any pieces, the last one with the end. What is beyond max_answer is not looked at.
func TestTCPAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, expect string
		most           int
		found          bool
	}{
		{"hello you", "hello", 100, true},
		{"hello you", "lo y", 100, true},
		{"hello you", "you", 9, true},
		{"hello you", "you", 8, false},
		{"hello you", "bye", 100, false},
	} {
		r := &tcpRunner{c: tcpConfig{Expect: c.expect, MaxAnswer: c.most}}
		for _, reader := range []io.Reader{
			strings.NewReader(c.answer), iotest.OneByteReader(strings.NewReader(c.answer)), iotest.DataErrReader(strings.NewReader(c.answer)),
		} {
			if err := r.await(reader, &phases{}); (err == nil) != c.found {
				t.Errorf("%q in %d bytes of %q: %v", c.expect, c.most, c.answer, err)
			}
		}
	}
}

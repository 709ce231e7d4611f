package tasks

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rota-run/rota/internal/proof/must"
)

// listen serves each connection with talk until the test ends.
func listen(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
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
			strings.NewReader(c.answer), iotest.OneByteReader(strings.NewReader(c.answer)),
			iotest.DataErrReader(strings.NewReader(c.answer)),
		} {
			if err := r.await(reader, &phases{}); (err == nil) != c.found {
				t.Errorf("%q in %d bytes of %q: %v", c.expect, c.most, c.answer, err)
			}
		}
	}
}

package zookeeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// dropping is a server that drops the connection of a session: so many times at the handshake, then as many times at its end. Then the session is gone.
func dropping(t *testing.T, times int) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-ended })
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := readPacket(c); err == nil && n >= times {
				shake := make([]byte, 4+shakeLength)
				binary.BigEndian.PutUint32(shake, shakeLength)
				if n < 2*times {
					shake[4+shakeID] = 1
				}
				_, _ = c.Write(shake)
				if n < 2*times {
					_, _ = readPacket(c)
				}
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// A server that drops the connection while it ends a session is asked again, until the session is gone; but not for ever.
func TestDroppedWhileASessionEnds(t *testing.T) {
	t.Parallel()
	o := Options{Timeout: 10 * time.Second}
	i := identity(bytes.Repeat([]byte{1}, len(identity{})))
	if err := o.endAt(t.Context(), dropping(t, drops/2), i); err != nil {
		t.Errorf("a session that is gone in the end: %v", err)
	}
	if err := o.endAt(t.Context(), dropping(t, 2*drops), i); !dropped(err) {
		t.Errorf("a server that never answers: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.endAt(ctx, dropping(t, 0), i); err == nil {
		t.Error("a cancelled call ended a session")
	}
}

package zookeeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// watching returns a hub with one watch of all rows, and counts its hints. Nobody arms anything.
func watching() (h *hub, hints *int) {
	h, hints = newHub(&conn{log: slog.New(slog.DiscardHandler)}), new(int)
	h.watches[&watch{hint: func() { *hints++ }}] = struct{}{}
	return h, hints
}

// TestWhatNobodyLooksAtIsArmed: after each change those who were told of it have some time to look, and then the hub
// does.
func TestWhatNobodyLooksAtIsArmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, hints := watching()
		for range 2 {
			*hints = 0
			for range 3 {
				h.event(zk.Event{Type: zk.EventNodeChildrenChanged, Path: h.c.o.at(rowsNode)})
			}
			time.Sleep(lookTime - time.Millisecond) // waits: by the clock of the test
			if len(h.wake) != 0 || *hints != 3 {
				t.Errorf("before its time: woken %d times, %d hints", len(h.wake), *hints)
			}
			time.Sleep(2 * time.Millisecond) // waits: by the clock of the test
			synctest.Wait()
			if dirty := h.dirty(); len(dirty) != 1 || len(h.wake) != 1 {
				t.Fatalf("%d watches are to be armed, woken %d times", len(dirty), len(h.wake))
			}
			<-h.wake
		}
	})
}

// replaced is the connection of a session. When it is closed, the servers take the session up again on another one.
type replaced struct {
	quiet
	link *link
}

func (r *replaced) Close() error {
	go func() { // as the library does: whoever closes holds the link's lock
		r.link.shaken(time.Now(), time.Minute)
		r.link.state(zk.StateHasSession)
	}()
	return r.quiet.Close()
}

// silentLease returns a lease of a minute that is connected, and was last heard of now.
func silentLease() *lease {
	l := &link{
		o: linkOptions{wait: time.Hour}, closing: make(chan struct{}), expired: make(chan struct{}),
		ready: make(chan struct{}),
	}
	l.wire = &wire{Conn: &replaced{link: l}}
	l.shaken(time.Now(), time.Minute)
	l.state(zk.StateHasSession)
	return &lease{link: l, c: &conn{life: inner.NewLife()}}
}

// TestRenewAfterASilence lets a session be silent. After more than half of its timeout Renew makes a new connection,
// whose handshake asks the leader about the session. An answer does not help then: the leader may not have heard of it.
func TestRenewAfterASilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		silence             time.Duration
		answered, reconnect bool
	}{
		{0, false, false},
		{30 * time.Second, false, false},
		{30 * time.Second, true, false},
		{30*time.Second + time.Millisecond, false, true},
		{30*time.Second + time.Millisecond, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := silentLease()
			began, gen := time.Now(), p.link.generation()
			time.Sleep(c.silence) // waits: by the clock of the test
			if c.answered {
				p.link.answered(time.Now())
			}
			heard := must.Get(p.Renew(t.Context()))(t)
			want := began
			if c.reconnect || c.answered {
				want = time.Now()
			}
			if reconnected := p.link.generation() != gen; reconnected != c.reconnect || !heard.Equal(want) {
				t.Errorf("after %v of a minute, answered %v: new connection %v, last sign of life %v ago; want %v, %v ago",
					c.silence, c.answered, reconnected, time.Since(heard), c.reconnect, time.Since(want))
			}
		})
	}
}

// dropping is a server that drops the connection of a session: so many times at the handshake, then as many times at
// its end. Then the session is gone.
func dropping(t *testing.T, times int) (addr string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
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

// A server that drops the connection while it ends a session is asked again, until the session is gone; but not for
// ever.
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
	o.Servers = []string{"127.0.0.1:1", dropping(t, 1), dropping(t, 2*drops)}
	all := &conn{o: o, life: inner.NewLife()}
	if err := all.EndLease(t.Context(), hex.EncodeToString(i[:])); err != nil {
		t.Errorf("a session that one of the servers has ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.endAt(ctx, dropping(t, 0), i); err == nil {
		t.Error("a cancelled call ended a session")
	}
}

// TestWhoIsNoServerIsAskedOnce: only where a connection was dropped the server is asked again.
func TestWhoIsNoServerIsAskedOnce(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	asked := make(chan int)
	go func() {
		n := 0
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			n++
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request")) // its client looks at the length
			_, _ = readPacket(c)
			_ = c.Close()
		}
		asked <- n
	}()
	o := Options{Timeout: 10 * time.Second}
	if err := o.endAt(t.Context(), l.Addr().String(), identity{1}); !errors.Is(err, errNotZooKeeper) {
		t.Errorf("by what is no server: %v", err)
	}
	must.Succeed(t, l.Close())
	if n := <-asked; n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

// TestCloseSession: the end of a session is acknowledged by the answer to it, and by no other one.
func TestCloseSession(t *testing.T) {
	t.Parallel()
	ack, other := packet(1, 0, 0, 0), packet(-2, 0, 0, 0)
	for name, c := range map[string]struct { // order-free: each is a connection of its own
		answer []byte
		says   string
	}{
		"acknowledged":   {ack, ""},
		"behind a ping":  {append(slices.Clone(other), ack...), ""},
		"a ping alone":   {other, "EOF"},
		"refused":        {packet(1, 0, 0, 1), "code 1"},
		"cut off":        {packet(1, 0), errNotZooKeeper.Error()},
		"not ZooKeeper":  {[]byte("HTTP/1.1 400 Bad Request"), errNotZooKeeper.Error()},
		"longer than it": {packet(make([]int32, maxHandshake)...), errNotZooKeeper.Error()},
	} {
		client, server := net.Pipe()
		go func() {
			_, _ = readPacket(server)
			_, _ = server.Write(c.answer) // the client may have seen enough
			_ = server.Close()
		}()
		err := closeSession(client)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		_ = client.Close()
	}
}

// TestKeysOfNoSession: what is not the key of a session is refused before a server is asked.
func TestKeysOfNoSession(t *testing.T) {
	t.Parallel()
	c := &conn{life: inner.NewLife()} // it has nobody to ask
	for _, key := range []string{"", "00", strings.Repeat("zz", len(identity{})), strings.Repeat("00", len(identity{})),
		strings.Repeat("01", len(identity{})+1)} {
		if err := c.EndLease(t.Context(), key); err == nil ||
			!strings.Contains(err.Error(), "is not that of a session") {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

package zookeeper

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
)

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
	return &lease{link: l, c: &conn{}}
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

package zookeeper

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
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

// silentSession returns a session of a minute that is connected, and was last heard of now.
func silentSession() *session {
	l := &link{
		o: linkOptions{wait: time.Hour}, closing: make(chan struct{}), expired: make(chan struct{}), ready: make(chan struct{}),
	}
	l.wire = &wire{Conn: &replaced{link: l}}
	l.shaken(time.Now(), time.Minute)
	l.state(zk.StateHasSession)
	return &session{link: l, ttl: time.Minute, done: make(chan struct{})}
}

// TestWriteAfterASilence lets a session be silent. After more than half of its timeout a write needs a new connection, whose handshake asks the leader
// about the session.
func TestWriteAfterASilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		silence   time.Duration
		reconnect bool
	}{
		{0, false},
		{30 * time.Second, false},
		{30*time.Second + time.Millisecond, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := silentSession()
			began, gen := time.Now(), p.link.generation()
			time.Sleep(c.silence) // waits: by the clock of the test
			heard, err := p.fresh(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := began
			if c.reconnect {
				want = time.Now()
			}
			if reconnected := p.link.generation() != gen; reconnected != c.reconnect || !heard.Equal(want) {
				t.Errorf("after %v of a minute: new connection %v, last sign of life %v ago; want %v, %v ago",
					c.silence, reconnected, time.Since(heard), c.reconnect, time.Since(want))
			}
		})
	}
}

// TestLateAcknowledgementIsUnknown acknowledges writes some time after the last sign of life. After more than three quarters of the timeout an
// acknowledgement does not prove that the session was renewed.
func TestLateAcknowledgementIsUnknown(t *testing.T) {
	t.Parallel()
	for after, unknown := range map[time.Duration]bool{
		0:                                 false,
		45 * time.Second:                  false,
		45*time.Second + time.Millisecond: true,
		time.Hour:                         true,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := silentSession()
			heard := time.Now()
			time.Sleep(after) // waits: by the clock of the test
			if err := p.renewed(heard); errors.Is(err, store.ErrUnknown) != unknown || (err != nil) != unknown {
				t.Errorf("acknowledged %v after the sign of life, of a minute: %v; want unknown: %v", after, err, unknown)
			}
		})
	}
}

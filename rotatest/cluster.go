package rotatest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/store/handle"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// Cluster is a cluster inside a test.
type Cluster struct {
	t      testing.TB
	server *memory.Server
	clock  func() protocol.Instant
	named  int
}

// New makes a cluster without members. It is called in a bubble of testing/synctest.
func New(t testing.TB) *Cluster {
	t.Helper()
	return &Cluster{t: t, server: memory.New(), clock: protocol.NewProcessClock()}
}

// Store is a handle on the store of the cluster, for clients and for looking. It is closed when the test ends.
func (c *Cluster) Store() rota.Store {
	s := c.server.Open()
	c.t.Cleanup(func() { _ = s.Close() }) // a handle in memory
	return s
}

// Clock is the clock of the bubble, for configs of clients.
func (c *Cluster) Clock() func() protocol.Instant { return c.clock }

// Client is a client of the cluster, which is closed when the test ends.
func (c *Cluster) Client(o rota.ClientOptions) *rota.Client {
	c.t.Helper()
	o.Clock = c.clock
	client, err := rota.Open(c.Store(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			c.t.Error(err)
		}
	})
	return client
}

// Member is a member that a test can crash or suspend.
type Member struct {
	*rota.Member
	t      testing.TB
	handle *handle.Handle
	down   bool
}

// Join starts a member and returns when it has joined. Store and Clock of the config are those of the cluster; a member
// without a name gets one.
func (c *Cluster) Join(config rota.Config) *Member {
	c.t.Helper()
	if len(config.Sources) > 0 {
		c.t.Fatal("join: Sources are directories, and virtual time stands still while they are watched; " +
			"try: Files, with os.DirFS or an fstest.MapFS")
	}
	h := handle.New(c.server.Open())
	config.Store, config.Clock = h, c.clock
	if c.named++; config.Member == "" {
		config.Member = fmt.Sprint("member-", c.named)
	}
	joined, err := rota.Join(context.Background(), config)
	if err != nil {
		_ = h.Close() // the error above says more
		c.t.Fatal(err)
	}
	m := &Member{Member: joined, t: c.t, handle: h}
	c.t.Cleanup(m.end)
	return m
}

// end lets a member leave that is still there.
func (m *Member) end() {
	if m.down {
		return
	}
	m.down = true
	m.handle.Thaw()
	if err := m.Leave(context.Background()); err != nil {
		m.t.Errorf("%s leaves: %v", m.Name(), err)
	}
	if err := m.handle.Close(); err != nil {
		m.t.Errorf("%s closes its store: %v", m.Name(), err)
	}
}

// Crash ends the member as the death of its process would: nothing that it has yet to write is written, and its
// heartbeat goes. It returns when all of its goroutines have ended.
func (m *Member) Crash() {
	m.t.Helper()
	if m.down {
		m.t.Fatalf("%s is down already", m.Name())
	}
	m.down = true
	m.handle.Lose()
	gone, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_ = m.Leave(gone) // it says that the store is closed, as it should
	if err := m.handle.Close(); err != nil {
		m.t.Errorf("%s closes its store: %v", m.Name(), err)
	}
}

// Suspend keeps the member from reading and writing until Resume, as if its process stood still.
func (m *Member) Suspend() { m.handle.Freeze() }

// Resume lets it go on.
func (m *Member) Resume() { m.handle.Thaw() }

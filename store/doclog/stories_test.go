package doclog

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// TestStoriesOnMemory runs the stories of a protocol on a log of documents, in virtual time.
func TestStoriesOnMemory(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Virtual: true, TTL: 2 * time.Second, Many: 10, Open: membersOnMemory})
}

func membersOnMemory(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	server, clock := memory.New(), protocol.NewProcessClock()
	return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
		t.Helper()
		f := storetest.NewFaulty(server.Open(), nil)
		s, err := New(f, Options{PartBytes: 500})
		if err != nil {
			t.Fatal(err)
		}
		m, err := replica.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return protocoltest.Handle{Member: m, Clock: clock, Crash: func() { _ = s.Close() }, Away: f.Away}
	}
}

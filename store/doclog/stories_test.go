package doclog

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// TestStoriesOnMemory runs the stories of a protocol on a log of documents, in virtual time.
func TestStoriesOnMemory(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Virtual: true, TTL: 2 * time.Second, Many: 10, Open: membersOnMemory(false)})
}

// TestStoriesWithoutHints is the same where nothing tells of changes, and many documents come in one request.
func TestStoriesWithoutHints(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Virtual: true, TTL: 2 * time.Second, Many: 10, Open: membersOnMemory(true)})
}

func membersOnMemory(hush bool) func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		t.Helper()
		return openMembers(hush)
	}
}

// mute are documents without watches and sessions.
type mute struct {
	Docs
	store.GetMany
}

func openMembers(hush bool) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	server, clock := memory.New(), protocol.NewProcessClock()
	return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
		t.Helper()
		f := storetest.NewFaulty(server.Open(), nil)
		var docs Docs = f
		if hush {
			docs = mute{f, f}
		}
		s, err := New(docs, Options{PartBytes: 500})
		must.Succeed(t, err)
		m, err := replica.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20, Clock: clock})
		must.Succeed(t, err)
		return protocoltest.Handle{Member: m, Clock: clock, Crash: func() { _ = s.Close() }, Away: f.Away}
	}
}

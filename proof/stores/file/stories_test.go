package file_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/storetest"
)

// TestStories runs the stories of a protocol on a directory. A member that crashes is one whose handle is closed.
func TestStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{TTL: 2 * time.Second, Open: inDirectory(replica.Protocol{}, func(t *testing.T, f *storetest.Faulty) store.Full { return f })})
}

// TestStoriesUnderLeader runs the stories with another protocol.
func TestStoriesUnderLeader(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{TTL: 2 * time.Second, Open: inDirectory(leader.Protocol{}, func(t *testing.T, f *storetest.Faulty) store.Full { return f })})
}

// inDirectory opens members on one directory, each with a handle of its own.
func inDirectory(p protocol.Protocol, over func(*testing.T, *storetest.Faulty) store.Full) func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		dir := place(t)
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			t.Helper()
			opened, err := file.Open(t.Context(), dir, file.Options{})
			must.Succeed(t, err)
			f := storetest.NewFaulty(opened, nil)
			s := over(t, f)
			m, err := p.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20})
			must.Succeed(t, err)
			return protocoltest.Handle{Member: m, Crash: func() { _ = s.Close() }, Away: f.Away}
		}
	}
}

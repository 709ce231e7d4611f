package file_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/file"
)

func TestLocks(t *testing.T)   { t.Parallel(); locktest.Run(t, fresh) }
func TestStories(t *testing.T) { t.Parallel(); rig.Stories(t, members) }

// members opens members on one directory, each with a handle of its own. A member that crashes is one whose handle is
// closed.
func members(p protocol.Protocol) protocoltest.Setup {
	return protocoltest.Setup{TTL: 2 * time.Second,
		Open: func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
			dir := place(t)
			return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
				t.Helper()
				opened := must.Get(file.Open(t.Context(), dir, file.Options{}))(t)
				f := faults.NewFaulty(opened, nil)
				m := must.Get(p.New(protocol.Config{Member: id, Store: f, TTL: ttl, SnapshotEvery: 20}))(t)
				return protocoltest.Handle{Member: m, Crash: func() { _ = f.Close() }, Away: f.Away}
			}
		}}
}

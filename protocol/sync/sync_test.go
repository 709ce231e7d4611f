package sync

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tell logs what took members in and out, for the reader of a failed story.
func tell(t *testing.T, id cluster.MemberID) protocol.Events {
	return protocol.Events{Did: func(_ cluster.Value, deeds []protocol.Deed) {
		for _, d := range deeds {
			switch d.Command.(type) {
			case cluster.LeaveCluster, cluster.Epoch:
				t.Logf("%s did %v %v", id, d.Command, d.Result)
			}
		}
	}}
}

// onMemory makes members in virtual time, on stores whose calls can be made to fail.
func onMemory() protocoltest.Setup {
	return protocoltest.Setup{Virtual: true, TTL: 2 * time.Second, Open: func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		server, clock := memory.New(), protocol.NewProcessClock()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			t.Helper()
			f := storetest.NewFaultyGroup(server.Open(), nil)
			m, err := New(protocol.Config{Member: id, Store: f, TTL: ttl, SnapshotEvery: 20, Clock: clock, Events: tell(t, id)})
			if err != nil {
				t.Fatal(err)
			}
			return protocoltest.Handle{Member: m, Clock: clock, Crash: func() { _ = f.Close() }, Away: f.Away, Break: f.Break}
		}
	}}
}

func TestStoriesOnMemory(t *testing.T) {
	t.Parallel()
	setup := onMemory()
	setup.Many = 30
	protocoltest.Run(t, setup)
}

// TestStorm runs members whose calls fail at random, in every way that a store has.
func TestStorm(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		setup := onMemory()
		setup.Seed = seed + 1
		t.Run(fmt.Sprintf("seed %d", setup.Seed), func(t *testing.T) {
			t.Parallel()
			protocoltest.Storm(t, setup)
		})
	}
}

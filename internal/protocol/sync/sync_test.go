package sync

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/protocol/protocoltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWhatIsRefusedIsNotSaidForEver: a member that wants what everybody refuses fills no log, and holds up nobody.
func TestWhatIsRefusedIsNotSaidForEver(t *testing.T) {
	t.Parallel()
	protocoltest.RefusedOnMemory(t, Protocol{})
}

func TestStoriesOnMemory(t *testing.T) {
	t.Parallel()
	protocoltest.StoriesOnMemory(t, Protocol{})
}

// TestStorm runs members whose calls fail at random, in every way that a store has.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.StormsOnMemory(t, Protocol{}, false)
}

// TestABusyStore is a group that cannot take as many heartbeats as the usual TTL asks for.
func TestABusyStore(t *testing.T) {
	t.Parallel()
	protocoltest.Load{Beats: 8, Times: 3}.Busy(t, Protocol{})
}

// TestTimes: silence is noticed in time, and so on. The group alone says who lives, whatever the store tells of
// besides.
func TestTimes(t *testing.T) {
	t.Parallel()
	protocoltest.Times(t, Protocol{}, map[string]float64{"as etcd, NATS and ZooKeeper": 31.5})
}

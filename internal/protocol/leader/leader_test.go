package leader

import (
	"fmt"
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
	protocoltest.StormsOnMemory(t, Protocol{}, true)
}

// TestStoriesWithHeartbeatsAlone is the protocol on stores without sessions.
func TestStoriesWithHeartbeatsAlone(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.OnMemory(Protocol{}, true))
}

// TestABusyStore is a store that cannot take as many heartbeats as the usual TTL asks for.
func TestABusyStore(t *testing.T) {
	t.Parallel()
	for _, noSessions := range []bool{false, true} {
		t.Run(fmt.Sprintf("NoSessions=%t", noSessions), func(t *testing.T) {
			t.Parallel()
			protocoltest.Load{Beats: 3, Times: 2, Returns: true, NoSessions: noSessions}.Busy(t, Protocol{})
		})
	}
}

// TestTimes: silence is noticed in time, and so on, on each kind of store.
func TestTimes(t *testing.T) {
	t.Parallel()
	protocoltest.Times(t, Protocol{}, map[string]float64{
		"memory": 26.5, "as file and PostgreSQL": 26.5, "as etcd, NATS and ZooKeeper": 21, "as Elasticsearch": 301,
	})
}

// TestATreeIsWalkedAsItWas: what is set or removed during a walk does not show in it.
func TestATreeIsWalkedAsItWas(t *testing.T) {
	t.Parallel()
	var all tree[int]
	for i := range 500 {
		all.set(fmt.Sprintf("a/%03d", i), i)
		all.set(fmt.Sprintf("b/%03d", i), i)
	}
	next := 0
	for key, v := range all.below("a/") {
		if v != next {
			t.Fatalf("%s comes after %d", key, next-1)
		}
		next++
		all.remove(key)
	}
	if next != 500 || all.Len() != 500 {
		t.Errorf("walked %d, left %d", next, all.Len())
	}
}

package replica

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/protocol/protocoltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

package nats_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	underLeader "github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
)

// TestStories runs the protocol's stories on a real server. A member that crashes leaves documents that must expire. A link that holds all bytes makes
// the store unavailable.
func TestStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, members(replica.Protocol{}, 3*time.Second, address))
}

// TestStoriesUnderLeader runs them with another protocol.
func TestStoriesUnderLeader(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, members(underLeader.Protocol{}, 3*time.Second, address))
}

// TestStoriesOfThree runs them on three nodes, with members on different ones. Like TestCluster it does not run in parallel.
func TestStoriesOfThree(t *testing.T) {
	c, err := server.Spawn(rig.LongDeadline(t), server.Options{Dir: folder(t), Nodes: 3, NoSync: true, NoAdvertise: true})
	must.Succeed(t, err)
	t.Cleanup(c.Stop)
	t.Run("stories", func(t *testing.T) {
		protocoltest.Run(t, members(replica.Protocol{}, 4*time.Second, c.URLs()...))
	})
}

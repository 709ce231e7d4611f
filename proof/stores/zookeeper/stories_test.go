package zookeeper_test

import (
	"testing"

	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
)

// TestStories runs the protocol's stories on a real server. A member that crashes leaves a session that must expire. A store that cannot be reached is a
// link that holds all bytes.
func TestStories(t *testing.T) {
	t.Parallel()
	stories(t, servers(t), replica.Protocol{})
}

// TestStoriesUnderLeader runs them with another protocol.
func TestStoriesUnderLeader(t *testing.T) {
	t.Parallel()
	stories(t, servers(t), leader.Protocol{})
}

// TestStormUnderLeader runs members whose links to the server break at random.
func TestStormUnderLeader(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, members(leader.Protocol{}, servers(t)))
}

// TestStoriesOfThree runs them on an ensemble: what one member wrote through one server, another one reads from the next.
func TestStoriesOfThree(t *testing.T) {
	t.Parallel()
	stories(t, ownServers(t, server.Options{Nodes: 3}).Servers(), replica.Protocol{})
}

// TestStorm runs members whose links to the server break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, members(replica.Protocol{}, servers(t)))
}

func stories(t *testing.T, servers []string, p protocol.Protocol) {
	t.Run("stories", func(t *testing.T) {
		protocoltest.Run(t, members(p, servers))
	})
}

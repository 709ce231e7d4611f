package zookeeper_test

import (
	"context"
	"github.com/rota-run/rota/protocol"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/zookeeper"
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
	protocoltest.Storm(t, protocoltest.Setup{Open: behindLinks(servers(t), leader.Protocol{}), TTL: 2 * time.Second})
}

// TestStoriesOfThree runs them on an ensemble: what one member wrote through one server, another one reads from the next.
func TestStoriesOfThree(t *testing.T) {
	t.Parallel()
	stories(t, ownServers(t, server.Options{Nodes: 3}).Servers(), replica.Protocol{})
}

// TestStorm runs members whose links to the server break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: behindLinks(servers(t), replica.Protocol{}), TTL: 2 * time.Second})
}

func stories(t *testing.T, servers []string, p protocol.Protocol) {
	t.Run("stories", func(t *testing.T) {
		protocoltest.Run(t, protocoltest.Setup{Open: behindLinks(servers, p), TTL: 2 * time.Second})
	})
}

// behindLinks opens members on one store, each through its own link.
func behindLinks(servers []string, p protocol.Protocol) func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		path, n := freshPath(t), 0
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			n++
			link, err := faultproxy.Listen(context.Background(), servers[n%len(servers)])
			if err != nil {
				t.Fatal(err)
			}
			// The story ends all members by Crash. A clean-up here would come before that, and look like a crash of members that still run.
			s := opened(t, zookeeper.Options{Servers: []string{link.Addr()}, Path: path, Session: 2 * time.Second})
			m, err := p.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20})
			if err != nil {
				t.Fatal(err)
			}
			return protocoltest.Handle{
				Member: m,
				Crash:  func() { link.Close(); s.Close() },
				Away:   func(away bool) { setAway(t, link, away) },
				Break:  link.Break,
			}
		}
	}
}

func setAway(t *testing.T, link *faultproxy.Proxy, away bool) {
	if away {
		link.Stall()
		return
	}
	if err := link.Heal(); err != nil {
		t.Errorf("heal the link: %v", err)
	}
}

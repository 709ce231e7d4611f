package nats_test

import (
	"context"
	"github.com/rota-run/rota/protocol"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/nats"
	underLeader "github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/nats"
)

// TestStories runs the protocol's stories on a real server. A member that crashes leaves documents that must expire. A link that holds all bytes makes
// the store unavailable.
func TestStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: behindLinks([]string{address}, replica.Protocol{}), TTL: 3 * time.Second})
}

// TestStoriesUnderLeader runs them with another protocol.
func TestStoriesUnderLeader(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: behindLinks([]string{address}, underLeader.Protocol{}), TTL: 3 * time.Second})
}

// TestStoriesOfThree runs them on three nodes, with members on different ones. Like TestCluster it does not run in parallel.
func TestStoriesOfThree(t *testing.T) {
	c, err := server.Start(longDeadline(t), server.Options{Dir: folder(t), Nodes: 3, NoSync: true, NoAdvertise: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	t.Run("stories", func(t *testing.T) {
		protocoltest.Run(t, protocoltest.Setup{Open: behindLinks(c.URLs(), replica.Protocol{}), TTL: 4 * time.Second})
	})
}

// behindLinks opens members on one store, each behind a link of its own.
func behindLinks(servers []string, p protocol.Protocol) func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		name, n := bucket(), 0
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			n++
			link, err := faultproxy.Listen(context.Background(), strings.TrimPrefix(servers[n%len(servers)], "nats://"))
			if err != nil {
				t.Fatal(err)
			}
			// The story itself ends all members, by Crash: a clean-up here would come before that, and look like the death of members that still run.
			s := opened(t, nats.Options{URLs: []string{"nats://" + link.Addr()}, Bucket: name, Timeout: 20 * time.Second})
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

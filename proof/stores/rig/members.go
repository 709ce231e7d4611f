package rig

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
)

// Backend is a store on which a protocol runs.
type Backend interface {
	store.Full
	Close() error
}

// Members is protocoltest.Setup.Open for members on a real server. Each member has a link of its own, to one server
// after the other. A store that is away is a link that holds all bytes. A member that crashes is one whose link is
// gone, so that its session must expire.
//
// fresh makes an empty store; the function that it returns opens a handle through an address, host:port, and must leave
// Close to the caller: the story itself ends each member, by Crash. A cleanup would come before that, and look like the
// death of members that still run.
func Members[S Backend](p protocol.Protocol, servers []string, fresh func(*testing.T) func(t *testing.T, addr string) S,
) func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		open, n := fresh(t), 0
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			n++
			link := link(t, servers[n%len(servers)])
			s := open(t, link.Addr())
			m, err := p.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20})
			if err != nil {
				t.Fatal(err)
			}
			return protocoltest.Handle{
				Member: m,
				Crash:  func() { link.Close(); s.Close() },
				Away: func(away bool) {
					if away {
						link.Stall()
						return
					}
					Heal(t, link)
				},
				Break: link.Break,
			}
		}
	}
}

package etcd_test

import (
	"context"
	. "github.com/rota-run/rota/store/etcd"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
)

// TestStories runs the stories of a protocol on a real server. A store that is away is a link that holds all bytes; a member that crashes is one whose
// link is gone, so that its lease must run out.
func TestStories(t *testing.T) {
	t.Parallel()
	open := func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		o := options()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			return member(t, o, id, ttl)
		}
	}
	protocoltest.Run(t, protocoltest.Setup{Open: open, TTL: 2 * time.Second})
}

func member(t *testing.T, o Options, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
	t.Helper()
	link, err := faultproxy.Listen(context.Background(), o.Endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	o.Endpoints = []string{link.Addr()}
	s := opened(t, o) // Crash closes it, which a story calls for each member
	m, err := replica.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20})
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
			heal(t, link)
		},
	}
}

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

// TestStorm runs members whose links to a real server break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: behindLinks, TTL: 2 * time.Second})
}

// behindLinks opens members on one store, each behind a link of its own.
func behindLinks(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	o := options()
	return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
		link, err := faultproxy.Listen(context.Background(), o.Endpoints[0])
		if err != nil {
			t.Fatal(err)
		}
		through := o
		through.Endpoints = []string{link.Addr()}
		// The story itself ends all members, by Crash: a clean-up here would come before that, and look like the death of members that still run.
		s := opened(t, through)
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
				} else if err := link.Heal(); err != nil {
					t.Errorf("heal the link: %v", err)
				}
			},
			Break: link.Break,
		}
	}
}

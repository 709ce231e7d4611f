package kafka_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/storetest"
)

// via connects to the links of brokers instead of the brokers: a client asks one for the addresses of all, and would go
// around its link.
func via(links map[string]string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if link, ok := links[addr]; ok {
			addr = link
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// through are the options of a handle whose connections go over links of its own, one for each broker.
func through(t testing.TB, o kafka.Options) (kafka.Options, []*faultproxy.Proxy) {
	t.Helper()
	links, addrs := rig.Links(t, o.Brokers)
	ways := make(map[string]string)
	for i, b := range o.Brokers {
		ways[b] = addrs[i]
	}
	o.Dial = via(ways)
	return o, links
}

func reach(t *testing.T, brokers []string) storetest.Reach[*kafka.Store] {
	o := kafka.Options{Brokers: brokers, Name: freshName(t), Timeout: 20 * time.Second}
	return storetest.Reach[*kafka.Store]{
		Direct: func(t *testing.T) *kafka.Store { return openWith(t, o) },
		Through: func(t *testing.T) (*kafka.Store, storetest.Link) {
			// What a call does without an answer takes the store's timeout, unless the suite's ctx ends first.
			away, links := through(t, kafka.Options{Brokers: o.Brokers, Name: o.Name, Timeout: 4 * time.Second})
			return openWith(t, away), links[0]
		},
	}
}

// TestFaults breaks the link to the broker. There are no sessions to test.
func TestFaults(t *testing.T) {
	t.Parallel()
	shared := func(t *testing.T) storetest.Reach[*kafka.Store] { return reach(t, servers(t)) }
	t.Run("docs", func(t *testing.T) { t.Parallel(); storetest.DocsFaults(t, shared) })
	t.Run("log", func(t *testing.T) { t.Parallel(); storetest.LogFaults(t, shared) })
	t.Run("watch", func(t *testing.T) { t.Parallel(); storetest.WatchFaults(t, shared) })
}

// TestCrashes kills the only broker with SIGKILL, and starts it again with its data.
func TestCrashes(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*kafka.Store] {
		c := ownServers(t, server.Options{})
		r := reach(t, c.Servers())
		r.Crash = func(t *testing.T) {
			must.Succeed(t, c.Kill(0))
			must.Succeed(t, c.Restart(rig.LongDeadline(t), 0))
		}
		return r
	})
}

func TestLocks(t *testing.T) { t.Parallel(); locktest.Run(t, fresh) }

// members opens members on one store, each behind a link of its own.
func members(t *testing.T) func(t *testing.T, addr string) *kafka.Store {
	o := kafka.Options{Brokers: servers(t), Name: freshName(t), Timeout: 20 * time.Second}
	return func(t *testing.T, addr string) *kafka.Store {
		o.Dial = via(map[string]string{o.Brokers[0]: addr})
		return rig.Opened(t, func(ctx context.Context) (*kafka.Store, error) { return kafka.Open(ctx, o) })
	}
}

// TestStories runs the protocol's stories on a real broker. A member that crashes leaves a heartbeat that nobody
// renews.
func TestStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: rig.Members(replica.Protocol{}, servers(t), members),
		TTL: 3 * time.Second})
}

// TestStorm runs members whose links to the broker break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: rig.Members(replica.Protocol{}, servers(t), members),
		TTL: 3 * time.Second})
}

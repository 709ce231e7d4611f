package kafka_test

import (
	"cmp"
	"context"
	"net"
	"os"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/kafka"
)

// standing is the broker that most tests use, each with a name of its own; three are brokers of one cluster, for tests
// that leave them as they were.
var standing, three = sharing(1), sharing(3)

func sharing(brokers int) *rig.Shared[*server.Cluster] {
	return &rig.Shared[*server.Cluster]{
		Start: func(ctx context.Context) (*server.Cluster, error) {
			return server.Start(ctx, server.Options{Nodes: brokers})
		},
		Require: server.Require,
	}
}

func TestMain(m *testing.M) { os.Exit(standing.Run(m, three)) }

// servers returns the addresses of the shared broker.
func servers(t testing.TB) []string { return standing.Server(t).Servers() }

// ownServers starts brokers that the test may kill.
func ownServers(t testing.TB, o server.Options) *server.Cluster {
	t.Helper()
	return rig.Own(t, server.Variable, server.Require,
		func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, o) })
}

// threeServers are brokers that tests share, and may kill if they start them again.
func threeServers(t testing.TB) *server.Cluster {
	t.Helper()
	rig.MayKill(t, server.Variable)
	return three.Server(t)
}

// freshName returns a name that no other test uses.
func freshName(testing.TB) string { return standing.Name() }

// place is how tests reach the shared broker, or another one.
var place = rig.Place[kafka.Options, *kafka.Store]{
	Open: kafka.Open, TTL: 3 * time.Second, At: via,
	Fresh: func(t testing.TB) kafka.Options {
		return kafka.Options{Brokers: servers(t), Name: freshName(t), Timeout: 20 * time.Second}
	},
	Hosts: func(o kafka.Options) []string { return o.Brokers },
}

// via connects to a link instead of the first broker: a client asks one for the addresses of all, and would go around
// its link.
func via(o kafka.Options, links ...string) kafka.Options {
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == o.Brokers[0] {
			addr = links[0]
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return o
}

// hurried is place for links that break: what a call does without an answer takes the store's timeout, unless its ctx
// ends first.
func hurried() rig.Place[kafka.Options, *kafka.Store] {
	p := place
	p.At = func(o kafka.Options, links ...string) kafka.Options {
		o.Timeout = 4 * time.Second
		return via(o, links...)
	}
	return p
}

func openWith(t testing.TB, o kafka.Options) *kafka.Store {
	t.Helper()
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	return place.With(t, o)
}

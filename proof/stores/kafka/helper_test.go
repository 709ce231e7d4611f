package kafka_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/kafka"
)

// standing is the broker that most tests use, each with a name of its own.
var standing = rig.Shared[*server.Cluster]{
	Start:   func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, server.Options{}) },
	Require: server.Require,
}

// three are brokers of one cluster, for tests that leave them as they were.
var three = rig.Shared[*server.Cluster]{
	Start:   func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, server.Options{Nodes: 3}) },
	Require: server.Require,
}

func TestMain(m *testing.M) { os.Exit(standing.Run(m, &three)) }

// servers returns the addresses of the shared broker.
func servers(t testing.TB) []string { return standing.Server(t).Servers() }

// ownServers starts brokers that the test may kill.
func ownServers(t testing.TB, o server.Options) *server.Cluster {
	t.Helper()
	rig.MayKill(t, server.Variable)
	c, err := server.Start(rig.LongDeadline(t), o)
	server.Require(t, err)
	t.Cleanup(c.Stop)
	return c
}

// threeServers are brokers that tests share, and may kill if they start them again.
func threeServers(t testing.TB) *server.Cluster {
	t.Helper()
	rig.MayKill(t, server.Variable)
	return three.Server(t)
}

// freshName returns a name that no other test uses.
func freshName(testing.TB) string { return standing.Name() }

func openWith(t testing.TB, o kafka.Options) *kafka.Store {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	return rig.Open(t, func(ctx context.Context) (*kafka.Store, error) { return kafka.Open(ctx, o) })
}

// fresh makes an empty store on the shared broker.
func fresh(t *testing.T) func(t *testing.T) *kafka.Store {
	o := kafka.Options{Brokers: servers(t), Name: freshName(t)}
	return func(t *testing.T) *kafka.Store { return openWith(t, o) }
}

// faked makes an empty store on a fake of a broker, in the memory of the test.
func faked(t *testing.T) func(t *testing.T) *kafka.Store {
	o := kafka.Options{Brokers: fake(t).ListenAddrs(), Name: freshName(t)}
	return func(t *testing.T) *kafka.Store { return openWith(t, o) }
}

func fake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"})}, opts...)...)
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	return c
}

package kafka_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/storetest"
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

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, place.Empty) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, place.Empty) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, place.Empty) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, place.Empty) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, place.Empty) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, place.Empty) }
func TestQueue(t *testing.T) {
	t.Parallel()
	storetest.Queue(t, place.Empty)
	storetest.QueueJoins(t, place.Empty)
}
func TestGroup(t *testing.T) { t.Parallel(); storetest.Group(t, place.Empty) }
func TestLocks(t *testing.T) { t.Parallel(); locktest.Run(t, place.Empty) }

// TestStories runs the protocol's stories on a real broker. A member that crashes leaves a heartbeat that nobody
// renews.
func TestStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, place.Members(replica.Protocol{}))
}

// TestStorm runs members whose links to the broker break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, place.Members(replica.Protocol{}))
}

// TestFaults breaks the link to the broker. There are no sessions to test.
func TestFaults(t *testing.T) {
	t.Parallel()
	t.Run("docs", func(t *testing.T) { t.Parallel(); storetest.DocsFaults(t, hurried().Reach) })
	t.Run("log", func(t *testing.T) { t.Parallel(); storetest.LogFaults(t, hurried().Reach) })
	t.Run("watch", func(t *testing.T) { t.Parallel(); storetest.WatchFaults(t, hurried().Reach) })
}

// TestCrashes kills the only broker with SIGKILL, and starts it again with its data.
func TestCrashes(t *testing.T) {
	t.Parallel()
	hurried().Crashes(t, func(t *testing.T) (kafka.Options, func(*testing.T)) {
		c := ownServers(t, server.Options{})
		o := place.Fresh(t)
		o.Brokers = c.Servers()
		return o, func(t *testing.T) {
			must.Succeed(t, c.Kill(0))
			must.Succeed(t, c.Restart(rig.LongDeadline(t), 0))
		}
	})
}

// throughLink opens two drivers of one new store: a witness, and one behind a link, which has made each kind of change
// once: later ones are one request.
func throughLink(t *testing.T) (witness, behind kafka.Driver, l drivertest.Link) {
	t.Helper()
	hurry := func(o *kafka.Options) { o.Timeout = 2 * time.Second }
	witness, behind, l = rig.ThroughLink(t, place, kafka.OpenDriver, hurry,
		func(t *testing.T, o kafka.Options) func() any {
			c := admin(t)
			return func() any { return fmt.Sprint(endOf(t, c, o.Name+".log"), endOf(t, c, o.Name+".docs")) }
		})
	must.Succeed(t, must.Err(behind.Journal().Append(rig.Deadline(t), [][]byte{nil})))
	return witness, behind, l
}

// endOf is the end of a topic.
func endOf(t testing.TB, c *kgo.Client, topic string) int64 {
	t.Helper()
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Timestamp = -1
	one := kmsg.NewListOffsetsRequestTopic()
	one.Topic, one.Partitions = topic, []kmsg.ListOffsetsRequestTopicPartition{part}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, []kmsg.ListOffsetsRequestTopic{one}
	return request[*kmsg.ListOffsetsResponse](t, c, req).Topics[0].Partitions[0].Offset
}

// TestDriver: the driver keeps the promises of package driver, over a real broker.
func TestDriver(t *testing.T) { t.Parallel(); rig.Documents(t, place, kafka.OpenDriver, throughLink) }

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	rig.Journals(t, place, kafka.OpenDriver, throughLink, nil)
}

// TestLargeTogether: callers with the largest records append at once with others, and none is refused for it.
func TestLargeTogether(t *testing.T) {
	t.Parallel()
	s, ctx := place.Empty(t)(t), rig.Deadline(t)
	const callers = 12
	var all sync.WaitGroup
	var index [callers]uint64
	for i := range callers {
		all.Go(func() {
			var err error
			if index[i], err = s.Append(ctx, make([]byte, i%2*(kafka.MaxRecord-i))); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for i, at := range index {
		page, err := s.Read(ctx, at-1, 1)
		if err != nil || len(page.Records) != 1 || len(page.Records[0].Data) != i%2*(kafka.MaxRecord-i) {
			t.Errorf("caller %d was told %d: %d records, %v", i, at, len(page.Records), err)
		}
	}
}

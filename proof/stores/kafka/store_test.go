package kafka_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/storetest"
)

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, fresh); storetest.QueueJoins(t, fresh) }
func TestGroup(t *testing.T)    { t.Parallel(); storetest.Group(t, fresh) }

// driverOf opens a driver, which the test closes at its end.
func driverOf(t *testing.T, o kafka.Options) kafka.Driver { return rig.Driver(t, kafka.OpenDriver, o) }

// drivers makes an empty store on the shared broker, as drivers.
func drivers(t *testing.T) func() kafka.Driver {
	o := kafka.Options{Brokers: servers(t), Name: freshName(t)}
	return func() kafka.Driver { return driverOf(t, o) }
}

// throughLink opens two drivers of one new store: a witness, and one behind a link, which has made each kind of change
// once: later ones are one request.
func throughLink(t *testing.T) (witness, behind kafka.Driver, l drivertest.Link) {
	t.Helper()
	o := kafka.Options{Brokers: servers(t), Name: freshName(t)}
	witness = driverOf(t, o)
	away, links := through(t, o)
	away.Timeout = 2 * time.Second
	behind = driverOf(t, away)
	must.Succeed(t, must.Err(behind.Journal().Append(rig.Deadline(t), [][]byte{nil})))
	c := admin(t)
	ends := func() any { return fmt.Sprint(endOf(t, c, o.Name+".log"), endOf(t, c, o.Name+".docs")) }
	return witness, behind, rig.DriverLink(t, links[0], ends)
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
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{
		Open: func(t *testing.T) func() drivertest.Documenter {
			open := drivers(t)
			return func() drivertest.Documenter { return open() }
		},
		Through: func(t *testing.T) (witness, behind drivertest.Documenter, l drivertest.Link) {
			return throughLink(t)
		},
	})
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	drivertest.Journals(t, drivertest.JournalSetup{
		Open: func(t *testing.T) func() drivertest.Orderer {
			open := drivers(t)
			return func() drivertest.Orderer { return open() }
		},
		Through: func(t *testing.T) (witness, behind drivertest.Orderer, l drivertest.Link) { return throughLink(t) },
	})
}

// TestLargeTogether: callers with the largest records append at once with others, and none is refused for it.
func TestLargeTogether(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t)(t), rig.Deadline(t)
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

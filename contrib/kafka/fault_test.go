package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/contrib/kafka"
	"github.com/rota-run/rota/internal/proof/must"
)

// awaitMessage waits until a partition of the task has failed with an error that contains all the words.
func (b *bed) awaitMessage(m *rota.Member, key string, words ...string) string {
	b.t.Helper()
	var message string
	b.await(fmt.Sprintf("%s failed with %q", key, words), func() bool {
		p, _ := m.Value().Partition(cluster.NewPartitionID("loop", "", key))
		message = p.Message
		return message != "" && !slices.ContainsFunc(words,
			func(w string) bool { return !strings.Contains(message, w) })
	})
	return message
}

// A record that is refused stops its partition at it, and no other; what was done before it is not done again.
func TestARefusedRecordStopsItsPartition(t *testing.T) {
	b := setup(t, 2, "orders")
	b.produce("orders", 0, 20, 0, 1)
	var heal atomic.Bool
	typ := kafka.NewType("loop", kafka.Loop{Options: []kgo.Opt{soon},
		Take: func(_ context.Context, _ *rota.Grant, records []*kgo.Record) (int, error) {
			for i, r := range records {
				if r.Partition == 0 && r.Offset == 7 && !heal.Load() {
					return i, errors.New("no such customer")
				}
				b.note(r)
			}
			return len(records), nil
		}})
	m := b.join("a", typ)
	b.submit(m, b.config(), "orders")
	b.awaitMessage(m, "orders/0", "consume orders/0: take the record at offset 7: no such customer")
	b.awaitTaken("orders", 20, 1)
	b.awaitTaken("orders", 7, 0)
	heal.Store(true)
	b.awaitTaken("orders", 20, 0, 1)
	b.once()
}

// A function that is slow with one partition does not hold up the others, and its records do not pile up.
func TestASlowPartitionIsPaused(t *testing.T) {
	b := setup(t, 2, "orders")
	release := make(chan struct{})
	typ := kafka.NewType("loop", kafka.Loop{
		Options: []kgo.Opt{soon, kgo.FetchMaxPartitionBytes(1)}, // a fetch is one batch
		Take: func(ctx context.Context, _ *rota.Grant, records []*kgo.Record) (int, error) {
			if records[0].Partition == 0 {
				select {
				case <-release:
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				}
			}
			for _, r := range records {
				b.note(r)
			}
			return len(records), nil
		},
	})
	m := b.join("a", typ)
	b.submit(m, b.config(), "orders")
	for i := range 30 {
		b.produce("orders", i, 1, 0, 1)
	}
	b.awaitTaken("orders", 30, 1)
	close(release)
	b.awaitTaken("orders", 30, 0)
	b.once()
}

// A topic that was deleted and made again under its name is consumed from its first record, by all of its partitions.
func TestATopicIsMadeAnew(t *testing.T) {
	b := setup(t, 2, "orders")
	b.produce("orders", 0, 10, 0, 1)
	m := b.join("a", b.loop())
	b.submit(m, b.config(), "orders")
	b.awaitTaken("orders", 10, 0, 1)
	must.Succeed(t, b.brokers.DeleteTopic("orders"))
	b.awaitMessage(m, "orders/0", "was deleted")
	must.Succeed(t, b.brokers.CreateTopic("orders", 2, nil))
	b.client.PurgeTopicsFromClient("orders")
	b.produce("orders", 100, 10, 0, 1)
	b.await("records of the new topic are taken", func() bool {
		return b.taken["orders/0 109"] == 1 && b.taken["orders/1 109"] == 1 && len(b.taken) == 40
	})
}

// Records that were deleted before they were consumed are told of, and counted.
func TestAPositionThatIsGone(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 0, 10, 0)
	admin := kadm.NewClient(b.client)
	offsets := kadm.Offsets{}
	offsets.AddOffset("orders", 0, 3, -1)
	must.Succeed(t, admin.CommitAllOffsets(b.ctx, "readers", offsets))
	must.Succeed(t, b.brokers.DeleteRecords("orders", 0, 6))
	m := b.join("a", b.loop())
	c := b.config()
	c.Group, c.OutOfRange = "readers", kafka.Fail
	b.submit(m, c, "orders")
	b.awaitMessage(m, "orders/0", "the position 3 is not in the topic, which has 6 to 10",
		"lengthen the topic's retention")
	must.Succeed(t, m.Kill(b.ctx, "loop"))
	c.OutOfRange = kafka.Nearest
	must.Succeed(t, m.Submit(b.ctx, "again", kafka.Task("loop", c, "orders")))
	b.await("the rest is taken", func() bool { return len(b.order["orders/0"]) == 4 })
	b.once()
	b.await("it is logged", func() bool { return strings.Contains(b.logs.String(), "lost=3") })
}

// What was consumed is committed to the group too, where it has no members; a partition begins at what is committed
// there, be it the first record.
func TestAGroupIsTold(t *testing.T) {
	b := setup(t, 2, "orders")
	b.produce("orders", 0, 10, 0, 1)
	admin := kadm.NewClient(b.client)
	offsets := kadm.Offsets{}
	offsets.AddOffset("orders", 0, 4, -1)
	offsets.AddOffset("orders", 1, 0, -1)
	must.Succeed(t, admin.CommitAllOffsets(b.ctx, "readers", offsets))
	m := b.join("a", b.loop())
	c := b.config()
	c.Group, c.From = "readers", kafka.FromEnd
	b.submit(m, c, "orders")
	b.await("the rest is taken", func() bool { return len(b.order["orders/0"]) == 6 && len(b.order["orders/1"]) == 10 })
	b.await("the group knows", func() bool {
		got, err := admin.FetchOffsets(b.ctx, "readers")
		o, ok := got.Lookup("orders", 0)
		return err == nil && ok && o.At == 10 && strings.HasPrefix(o.Metadata, "rota token ")
	})
	b.once()
}

// A group is there from the first commit on; before that nothing was committed. One that cannot be told stops nobody.
func TestAGroupThatIsNotThereYet(t *testing.T) {
	b := setup(t, 1, "orders")
	b.brokers.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse) // once
		resp.Topics = []kmsg.OffsetCommitResponseTopic{{Topic: "orders", Partitions: []kmsg.OffsetCommitResponseTopicPartition{
			{ErrorCode: kerr.GroupAuthorizationFailed.Code}}}}
		return resp, nil, true
	})
	b.produce("orders", 0, 3, 0)
	m := b.join("a", b.loop())
	c := b.config()
	c.Group = "new"
	b.submit(m, c, "orders")
	b.awaitTaken("orders", 3, 0)
	b.await("the group is there", func() bool { return b.brokers.GroupInfo("new") != nil })
	p, _ := m.Value().Partition(cluster.NewPartitionID("loop", "", "orders/0"))
	if said := b.logs.String(); p.Message != "" || !strings.Contains(said, "the group does not know the position") {
		t.Errorf("it ended with %q, and its log is %s", p.Message, said)
	}
}

// Brokers that go away and come back are waited for; nothing is lost, and it is logged once.
func TestBrokersComeBack(t *testing.T) {
	b := setup(t, 1, "orders")
	gate := &gate{}
	typ := kafka.NewType("loop", kafka.Loop{
		Options: []kgo.Opt{soon, kgo.Dialer(gate.dial), often},
		Take: func(_ context.Context, _ *rota.Grant, records []*kgo.Record) (int, error) {
			for _, r := range records {
				b.note(r)
			}
			return len(records), nil
		},
	})
	m := b.join("a", typ)
	b.submit(m, b.config(), "orders")
	b.produce("orders", 0, 5, 0)
	b.awaitTaken("orders", 5, 0)
	gate.shut()
	b.await("it is logged", func() bool { return strings.Contains(b.logs.String(), "a broker does not answer") })
	b.produce("orders", 5, 5, 0)
	gate.open()
	b.awaitTaken("orders", 10, 0)
	b.once()
}

// What is wrong is said, with what to try, and without secrets.
func TestErrorsSayWhatToTry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		brokers []kfake.Opt
		options []kgo.Opt
		control func(*kfake.Cluster)
		at      string // instead of the brokers
		words   []string
	}{
		"a topic that is missing": {words: []string{"look up topic orders", "UNKNOWN_TOPIC_OR_PARTITION",
			"create the topic"}},
		"brokers away": {at: "127.0.0.1:1",
			words: []string{"127.0.0.1:1", "connection refused", "look whether the brokers run"}},
		"a wrong password": {
			brokers: []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "right")},
			options: []kgo.Opt{kgo.SASL(plain.Auth{User: "me", Pass: "hunter2"}.AsMechanism())},
			control: refusePassword,
			words:   []string{"SASL_AUTHENTICATION_FAILED", "correct the user, password or mechanism"},
		},
		"no password": {
			brokers: []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "right")},
			words:   []string{"look up topic orders", "hung up at once: it wants TLS, SASL"},
		},
		"no permission": {
			brokers: []kfake.Opt{kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "orders"),
				kfake.User("PLAIN", "me", "hunter2")},
			options: []kgo.Opt{kgo.SASL(plain.Auth{User: "me", Pass: "hunter2"}.AsMechanism())},
			words:   []string{"TOPIC_AUTHORIZATION_FAILED", "allow the client's user to Describe and Read the topic"},
		},
		"a group in the options": {
			options: []kgo.Opt{kgo.ConsumerGroup("mine")},
			words:   []string{"name a consumer group: take it out"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, 1)
			brokers, err := kfake.NewCluster(append(c.brokers, kfake.NumBrokers(1))...)
			must.Succeed(t, err)
			defer brokers.Close()
			if c.control != nil {
				c.control(brokers)
			}
			m := b.join("a", kafka.NewType("loop", kafka.Loop{Options: c.options,
				Take: func(context.Context, *rota.Grant, []*kgo.Record) (int, error) { return 0, nil }}))
			conf := b.config()
			conf.Brokers, conf.Timeout = brokers.ListenAddrs(), 300_000_000
			if c.at != "" {
				conf.Brokers = []string{c.at}
			}
			b.submit(m, conf, "orders")
			if got := b.awaitMessage(m, "orders", c.words...); strings.Contains(got, "hunter2") {
				t.Errorf("a secret stands in %q", got)
			}
		})
	}
}

// refusePassword answers as brokers do: this one would hang up.
func refusePassword(c *kfake.Cluster) {
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
}

// gate is a way to the brokers that can be shut.
type gate struct {
	closed atomic.Bool
	conns  atomic.Pointer[[]net.Conn]
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if g.closed.Load() {
		return nil, errors.New("the gate is shut")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	for {
		old := g.conns.Load()
		all := []net.Conn{c}
		if old != nil {
			all = append(all, *old...)
		}
		if !g.conns.CompareAndSwap(old, &all) {
			continue
		}
		if g.closed.Load() { // while it was made: shut may not have seen it
			c.Close()
			return nil, errors.New("the gate is shut")
		}
		return c, nil
	}
}

func (g *gate) shut() {
	g.closed.Store(true)
	for _, c := range *g.conns.Load() {
		c.Close()
	}
}

func (g *gate) open() { g.closed.Store(false) }

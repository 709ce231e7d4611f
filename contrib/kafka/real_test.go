package kafka_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/contrib/kafka"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/store/memory"
)

// The same on brokers that are not written for tests: two members, one leaves; the topic grows; it is recreated.
func TestOnRealBrokers(t *testing.T) {
	addrs := os.Getenv("ROTA_KAFKA_BROKERS")
	if addrs == "" {
		t.Skip("no real brokers: NOT RUN. Set ROTA_KAFKA_BROKERS to some, host:port with commas between them; topics named rota-test-... are made and deleted there")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addrs, ",")...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must.Succeed(t, err)
	t.Cleanup(client.Close)
	admin, topic := kadm.NewClient(client), "rota-test-"+rand.Text()
	must.Succeed(t, must.Err(admin.CreateTopic(ctx, 3, 1, nil, topic)))
	t.Cleanup(func() { _, _ = admin.DeleteTopic(context.WithoutCancel(ctx), topic) })
	b := &bed{t: t, ctx: ctx, client: client, store: memory.New(), taken: map[string]int{}, order: map[string][]int64{},
		news: make(chan struct{}), logs: output.New(t)}
	c := kafka.Config{Brokers: strings.Split(addrs, ","), Watch: quick, Save: quick, Group: topic}
	b.produce(topic, 0, 100, 0, 1, 2)
	first := b.join("a", b.loop())
	b.submit(first, c, topic)
	b.awaitTaken(topic, 100, 0, 1, 2)
	second := b.join("b", b.loop())
	b.await("the work is shared", func() bool {
		for _, by := range b.owners(second) {
			if by == "b" {
				return true
			}
		}
		return false
	})
	b.produce(topic, 100, 100, 0, 1, 2)
	must.Succeed(t, first.Leave(ctx))
	must.Succeed(t, must.Err(admin.UpdatePartitions(ctx, 4, topic)))
	b.awaitTaken(topic, 200, 0, 1, 2)
	b.await("the new partition is consumed", func() bool { return b.owners(second)[topic+"/3"] == "b" })
	client.PurgeTopicsFromClient(topic)
	b.produce(topic, 0, 50, 3)
	b.awaitTaken(topic, 50, 3)
	b.once()
	b.await("the group knows", func() bool {
		got, err := admin.FetchOffsets(ctx, topic)
		o, ok := got.Lookup(topic, 0)
		return err == nil && ok && o.At == 200
	})
	must.Succeed(t, must.Err(admin.DeleteTopic(ctx, topic)))
	b.await("it can be recreated", func() bool {
		_, err := admin.CreateTopic(ctx, 4, 1, nil, topic)
		return err == nil
	})
	client.PurgeTopicsFromClient(topic)
	b.produce(topic, 1000, 10, 0, 3)
	b.await("the new one is consumed",
		func() bool { return b.taken[topic+"/0 1009"] > 0 && b.taken[topic+"/3 1009"] > 0 })
}

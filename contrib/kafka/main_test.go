package kafka_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/contrib/kafka"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; it says nothing about how long things should take.
const patience = 60 * time.Second

// bed is a broker, a cluster, and what was taken.
type bed struct {
	t       *testing.T
	ctx     context.Context
	brokers *kfake.Cluster
	client  *kgo.Client
	store   *memory.Server

	mu    sync.Mutex
	taken map[string]int // how often each record was taken, as "topic/partition/offset value"
	order map[string][]int64
	news  chan struct{}
	logs  *output.Text
}

func setup(t *testing.T, partitions int32, topics ...string) *bed {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(partitions, topics...))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must.Succeed(t, err)
	t.Cleanup(client.Close)
	return &bed{t: t, ctx: ctx, brokers: c, client: client, store: memory.New(),
		taken: map[string]int{}, order: map[string][]int64{}, news: make(chan struct{}), logs: output.New(t)}
}

func (b *bed) config() kafka.Config {
	return kafka.Config{Brokers: b.brokers.ListenAddrs(), Watch: quick, Save: quick}
}

const quick = 20_000_000 // ns: tests do not wait for what is rare

// soon is for tests that do not wait for a fetch that brings nothing.
var soon = kgo.FetchMaxWait(50 * time.Millisecond)

// often is for tests in which a request has to be refused several times.
var often = kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond })

// produce writes n records to each of some partitions of a topic; their values are numbers from "from" on.
func (b *bed) produce(topic string, from, n int, partitions ...int32) {
	b.t.Helper()
	var records []*kgo.Record
	for _, p := range partitions {
		for i := range n {
			records = append(records, &kgo.Record{Topic: topic, Partition: p, Value: []byte(strconv.Itoa(from + i))})
		}
	}
	must.Succeed(b.t, b.client.ProduceSync(b.ctx, records...).FirstErr())
}

func (b *bed) join(name string, types ...rota.Type) *rota.Member {
	b.t.Helper()
	m, err := rota.Join(b.ctx, rota.Config{Member: name, Store: b.store.Open(), TTL: patience, Types: types,
		Logger: slog.New(slog.NewTextHandler(b.logs, nil))})
	must.Succeed(b.t, err)
	b.t.Cleanup(func() {
		if err := m.Leave(context.WithoutCancel(b.ctx)); err != nil {
			b.t.Errorf("leave %s: %v", name, err)
		}
	})
	return m
}

func (b *bed) submit(m *rota.Member, c kafka.Config, topics ...string) {
	b.t.Helper()
	must.Succeed(b.t, m.Submit(b.ctx, "loop", kafka.Task("loop", c, topics...)))
}

// loop notes what it takes.
func (b *bed) loop() rota.Type {
	return kafka.NewType("loop", kafka.Loop{Options: []kgo.Opt{soon, often},
		Take: func(_ context.Context, g *rota.Grant, records []*kgo.Record) (int, error) {
			for _, r := range records {
				b.note(r)
			}
			return len(records), nil
		}})
}

func (b *bed) note(r *kgo.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := fmt.Sprintf("%s/%d", r.Topic, r.Partition)
	b.taken[of+" "+string(r.Value)]++
	b.order[of] = append(b.order[of], r.Offset)
	close(b.news)
	b.news = make(chan struct{})
}

// await returns when something holds, which is looked at after each record that was taken, and from time to time.
func (b *bed) await(what string, holds func() bool) {
	b.t.Helper()
	for {
		b.mu.Lock()
		ok, news := holds(), b.news
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-time.After(10 * time.Millisecond): // for what is not a record
		case <-b.ctx.Done():
			b.t.Fatalf("it is not so: %s", what)
		}
	}
}

// awaitTaken waits until the numbers below n of some partitions were taken.
func (b *bed) awaitTaken(topic string, n int, partitions ...int32) {
	b.t.Helper()
	b.await(fmt.Sprintf("%d records of each of %v of %s are taken", n, partitions, topic), func() bool {
		return !slices.ContainsFunc(partitions, func(p int32) bool {
			for i := range n {
				if b.taken[fmt.Sprintf("%s/%d %d", topic, p, i)] == 0 {
					return true
				}
			}
			return false
		})
	})
}

// once checks that nothing was taken twice, and each partition in its order.
func (b *bed) once() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for r, n := range b.taken {
		if n != 1 {
			b.t.Errorf("%s was taken %d times", r, n)
		}
	}
	for p, offsets := range b.order {
		if !slices.IsSorted(offsets) {
			b.t.Errorf("%s was taken out of order: %v", p, offsets)
		}
	}
}

func (b *bed) owners(m *rota.Member) map[string]string {
	out := map[string]string{}
	for p := range m.Value().Partitions() {
		_, _, key := p.ID.Split()
		if p.Owner != "" {
			out[key] = string(p.Owner)
		}
	}
	return out
}

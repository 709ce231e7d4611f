package bare

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// kafka is franz-go as its manual shows it: idempotent, acks=all, which it is by itself.
type kafka struct {
	client *kgo.Client

	mu     sync.Mutex // of what follows: one polls for all
	reader *kgo.Client
	next   int64 // offset that the reader asks for
}

const kafkaTopic = "bare"

func openKafka(ctx context.Context, hosts []string) (*kafka, error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(hosts...), kgo.DefaultProduceTopic(kafkaTopic))
	if err != nil {
		return nil, err
	}
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = kafkaTopic, 1, 1
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = []kmsg.CreateTopicsRequestTopic{one}
	resp, err := req.RequestWith(ctx, c)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return &kafka{client: c}, nil
}

func (b *kafka) Write(ctx context.Context, data []byte) error {
	return b.client.ProduceSync(ctx, &kgo.Record{Value: data}).FirstErr()
}

func (b *kafka) Batch(ctx context.Context, data []byte, n int) error {
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Value: data}
	}
	return b.client.ProduceSync(ctx, records...).FirstErr()
}

// Applied writes a record and waits until a consumer of the same process has it.
func (b *kafka) Applied(ctx context.Context, data []byte) error {
	r, err := b.client.ProduceSync(ctx, &kgo.Record{Value: data}).First()
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader == nil {
		from := map[string]map[int32]kgo.Offset{kafkaTopic: {0: kgo.NewOffset().At(r.Offset)}}
		if b.reader, err = kgo.NewClient(kgo.SeedBrokers(b.client.OptValue(kgo.SeedBrokers).([]string)...),
			kgo.ConsumePartitions(from)); err != nil { //nolint:forcetypeassert // that is its type
			return err
		}
	}
	for b.next <= r.Offset {
		f := b.reader.PollFetches(ctx)
		if err := f.Err(); err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		f.EachRecord(func(r *kgo.Record) { b.next = r.Offset + 1 })
	}
	return nil
}

func (b *kafka) Close() error {
	b.client.Close()
	if b.reader != nil {
		b.reader.Close()
	}
	return nil
}

type nats struct {
	conn   *nc.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
}

func openNATS(ctx context.Context, hosts []string) (*nats, error) {
	conn, err := nc.Connect("nats://" + hosts[0])
	if err != nil {
		return nil, err
	}
	b := &nats{conn: conn}
	if b.js, err = jetstream.New(conn); err == nil {
		b.stream, err = b.js.CreateStream(ctx, jetstream.StreamConfig{Name: "bare", Subjects: []string{subject},
			AllowDirect: true})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return b, nil
}

const subject = "bare.log"

func (b *nats) Write(ctx context.Context, data []byte) error {
	_, err := b.js.PublishMsg(ctx, &nc.Msg{Subject: subject, Data: data})
	return err
}

func (b *nats) Batch(ctx context.Context, data []byte, n int) error {
	acks := make([]jetstream.PubAckFuture, n)
	for i := range acks {
		var err error
		if acks[i], err = b.js.PublishMsgAsync(&nc.Msg{Subject: subject, Data: data}); err != nil {
			return err
		}
	}
	for _, a := range acks {
		select {
		case <-a.Ok():
		case err := <-a.Err():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (b *nats) Applied(ctx context.Context, data []byte) error {
	ack, err := b.js.PublishMsg(ctx, &nc.Msg{Subject: subject, Data: data})
	if err != nil {
		return err
	}
	_, err = b.stream.GetMsg(ctx, ack.Sequence)
	return err
}

func (b *nats) Close() error {
	b.conn.Close()
	return nil
}

type etcd struct {
	client *clientv3.Client
	last   atomic.Uint64
}

func openEtcd(hosts []string) (*etcd, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: hosts, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return &etcd{client: c}, nil
}

func (b *etcd) put(data []byte) (string, clientv3.Op) {
	key := fmt.Sprintf("bare/%020d", b.last.Add(1))
	return key, clientv3.OpPut(key, string(data))
}

func (b *etcd) Write(ctx context.Context, data []byte) error {
	_, op := b.put(data)
	_, err := b.client.Txn(ctx).Then(op).Commit()
	return err
}

func (b *etcd) Batch(ctx context.Context, data []byte, n int) error {
	ops := make([]clientv3.Op, n)
	for i := range ops {
		_, ops[i] = b.put(data)
	}
	_, err := b.client.Txn(ctx).Then(ops...).Commit()
	return err
}

func (b *etcd) Applied(ctx context.Context, data []byte) error {
	key, op := b.put(data)
	if _, err := b.client.Txn(ctx).Then(op).Commit(); err != nil {
		return err
	}
	r, err := b.client.Get(ctx, key)
	if err == nil && len(r.Kvs) != 1 {
		err = fmt.Errorf("%s is not there", key)
	}
	return err
}

func (b *etcd) Close() error { return b.client.Close() }

type zooKeeper struct {
	conn *zk.Conn
	last atomic.Uint64
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func openZooKeeper(ctx context.Context, hosts []string) (*zooKeeper, error) {
	conn, events, err := zk.Connect(hosts, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
			if _, err := conn.Create("/bare", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
				conn.Close()
				return nil, err
			}
			return &zooKeeper{conn: conn}, nil
		case <-ctx.Done():
			conn.Close()
			return nil, context.Cause(ctx)
		}
	}
}

func (b *zooKeeper) path() string { return fmt.Sprintf("/bare/%020d", b.last.Add(1)) }

// The library knows no ctx.

func (b *zooKeeper) Write(_ context.Context, data []byte) error {
	_, err := b.conn.Create(b.path(), data, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	return err
}

func (b *zooKeeper) Batch(_ context.Context, data []byte, n int) error {
	ops := make([]any, n)
	for i := range ops {
		ops[i] = &zk.CreateRequest{Path: b.path(), Data: data, Acl: zk.WorldACL(zk.PermAll)}
	}
	_, err := b.conn.Multi(ops...)
	return err
}

func (b *zooKeeper) Applied(_ context.Context, data []byte) error {
	path := b.path()
	if _, err := b.conn.Create(path, data, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	_, _, err := b.conn.Get(path)
	return err
}

func (b *zooKeeper) Close() error {
	b.conn.Close()
	return nil
}

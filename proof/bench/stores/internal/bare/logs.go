package bare

import (
	"context"
	"fmt"
	"sync"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
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

package bare

import (
	"context"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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
		b.stream, err = b.js.CreateStream(ctx, jetstream.StreamConfig{Name: "bare", Subjects: []string{subject}, AllowDirect: true})
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

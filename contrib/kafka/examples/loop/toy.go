package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// toy is a broker in memory, and who makes records for it.
type toy struct{ port, partitions, rate int }

func (t toy) run(ctx context.Context, topics []string, out io.Writer) error {
	c, err := kfake.NewCluster(kfake.Ports(t.port), kfake.SeedTopics(int32(t.partitions), topics...))
	if err != nil {
		return err
	}
	defer c.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	fmt.Fprintf(out, "a broker with the topics %v listens on %v\n", topics, c.ListenAddrs())
	tick := time.NewTicker(time.Second / time.Duration(max(1, t.rate)))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		for _, topic := range topics {
			if err := client.ProduceSync(ctx,
				&kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(n))}).FirstErr(); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	leastBytes = 64 << 10
	fetchBytes = 8 << 20 // of one answer, at most
)

// latest and earliest are the names of the ends of a partition in ListOffsets.
const (
	latest   = -1
	earliest = -2
)

// end asks the leader for an end of the partition. Records below the latest offset are on all replicas that are in
// sync.
func (t *topic) end(ctx context.Context, which int64) (int64, error) {
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Timestamp = which
	one := kmsg.NewListOffsetsRequestTopic()
	one.Topic, one.Partitions = t.name, []kmsg.ListOffsetsRequestTopicPartition{part}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, []kmsg.ListOffsetsRequestTopic{one}
	offset := int64(0)
	err := t.askLeader(ctx, t.line.client, func(b *kgo.Broker) error {
		resp, err := requestAt[*kmsg.ListOffsetsResponse](ctx, b, req)
		if err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the answer does not name the partition")
		}
		offset = resp.Topics[0].Partitions[0].Offset
		return topicError(t.name, resp.Topics[0].Partitions[0].ErrorCode)
	})
	return offset, err
}

// fetched is one answer of a broker: some records, and where to go on.
type fetched struct {
	records     []*kgo.Record
	next        int64
	first, high int64 // the ends of the partition
}

// fetch reads from an offset on, at least one batch if there is one. wait is how many milliseconds the broker may wait
// for one.
func (t *topic) fetch(ctx context.Context, c *kgo.Client, from int64, most, wait int32) (fetched, error) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.FetchOffset, part.PartitionMaxBytes = from, most
	one := kmsg.NewFetchRequestTopic()
	one.Topic, one.TopicID, one.Partitions = t.name, t.id, []kmsg.FetchRequestTopicPartition{part}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch, req.Topics = wait, 1, most, -1,
		[]kmsg.FetchRequestTopic{one}
	var out fetched
	err := t.askLeader(ctx, c, func(b *kgo.Broker) error {
		resp, err := requestAt[*kmsg.FetchResponse](ctx, b, req)
		if err != nil {
			return err
		}
		if err := topicError(t.name, resp.ErrorCode); err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the answer does not name the partition")
		}
		out, err = t.decode(&resp.Topics[0].Partitions[0], from)
		return err
	})
	return out, err
}

func (t *topic) decode(p *kmsg.FetchResponseTopicPartition, from int64) (fetched, error) {
	out := fetched{first: p.LogStartOffset, high: p.HighWatermark}
	if err := topicError(t.name, p.ErrorCode); err != nil {
		return out, err
	}
	part, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from, Topic: t.name}, p,
		kgo.DefaultDecompressor(), nil)
	if part.Err != nil {
		return out, fmt.Errorf("topic %s, offset %d: %w: %w", t.name, next, ErrDamaged, part.Err)
	}
	out.records, out.next = part.Records, next
	return out, nil
}

package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
)

// mark is the header of our records. Its value is a checksum of the record's, so that what others write is not taken
// for ours.
const mark = "rota"

// overhead is what a batch with one record has beside the record's value; half of it is for the key and the name of a
// row.
const overhead = 1 << 10

// maxBatch is how many bytes the client sends to a topic at once: what Kafka takes unless a topic is told otherwise. One
// that takes less is refused.
const maxBatch = 1<<20 + 12

func sumOf(b []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// ourRecord makes a record of data, which the client may send after the caller has gone.
func ourRecord(data []byte) *kgo.Record {
	return &kgo.Record{Value: append([]byte{}, data...), Headers: []kgo.RecordHeader{{Key: mark, Value: sumOf(data)}}}
}

// ours returns the data of a record that is ours. Others are counted.
func (t *topic) ours(r *kgo.Record) ([]byte, bool) {
	of := func(h kgo.RecordHeader) bool { return h.Key == mark && bytes.Equal(h.Value, sumOf(r.Value)) }
	if slices.ContainsFunc(r.Headers, of) {
		return append([]byte{}, r.Value...), true
	}
	if t.line.foreign.Add(1) == 1 {
		t.line.log.Warn("skip records that rota did not write", "topic", r.Topic, "offset", r.Offset)
	}
	return nil, false
}

// produce sends records in order. It does not wait for an answer when ctx ends.
func (t *topic) produce(ctx context.Context, records ...*kgo.Record) error {
	done := make(chan error, len(records))
	for _, r := range records {
		r.Topic = t.name
		t.line.client.TryProduce(ctx, r, func(_ *kgo.Record, err error) { done <- err })
	}
	for range records {
		select {
		case err := <-done:
			if err != nil {
				return t.refused(ctx, err)
			}
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
		}
	}
	return nil
}

// refused gives the failure of a record its meaning.
func (t *topic) refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
	if code, ok := errors.AsType[*kerr.Error](err); ok {
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.TopicAuthorizationFailed):
			return topicError(t.name, code.Code)
		}
	}
	return changeError(err)
}

// drop removes all records before an offset.
func (t *topic) drop(ctx context.Context, before int64) error {
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Offset = before
	one := kmsg.NewDeleteRecordsRequestTopic()
	one.Topic, one.Partitions = t.name, []kmsg.DeleteRecordsRequestTopicPartition{part}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis, req.Topics = int32(t.line.timeout.Milliseconds()), []kmsg.DeleteRecordsRequestTopic{one}
	err := t.askLeader(ctx, t.line.client, func(b *kgo.Broker) error {
		resp, err := requestAt[*kmsg.DeleteRecordsResponse](ctx, b, req)
		if err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the answer does not name the partition")
		}
		return topicError(t.name, resp.Topics[0].Partitions[0].ErrorCode)
	})
	switch {
	case err == nil, errors.Is(err, errAway): // it was done before
		return nil
	case errors.Is(err, ErrDamaged), errors.Is(err, store.ErrUnavailable):
		return err
	}
	return changeError(err)
}

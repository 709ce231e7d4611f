package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
)

// mark is the header of our records. Its value is the format of the record, and a checksum of the record's value, so
// that what others write is not taken for ours. The checksum stays whatever the format becomes.
const mark = "rota"

// format is that of our records: what lies in a topic, and how.
const format = 2

// overhead is what a batch with one record has beside the record's value; half of it is for the key and the name of a
// row.
const overhead = 1 << 10

// maxBatch is how many bytes a batch has at most: what Kafka takes unless a topic is told otherwise. One that takes
// less is refused.
const maxBatch = 1<<20 + 12

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func sumOf(data []byte) []byte { return binary.BigEndian.AppendUint32([]byte{format}, checksum(data)) }

// ours returns the data of a record that is ours. Others are counted. What another version wrote is an error.
func (t *topic) ours(r *kgo.Record) (data []byte, ok bool, err error) {
	sum := sumOf(r.Value)
	for _, h := range r.Headers {
		if h.Key != mark || !bytes.HasSuffix(h.Value, sum[1:]) {
			continue
		}
		if !bytes.Equal(h.Value, sum) {
			has, what := bytes.TrimSuffix(h.Value, sum[1:]), "use a newer version of Rota"
			if bytes.Compare(has, sum[:1]) < 0 {
				what = "only earlier versions of Rota read it: use another name"
			}
			return nil, false, fmt.Errorf("topic %s, offset %d: format %x, this program knows %x: %s: %w", t.name,
				r.Offset, has, sum[:1], what, ErrDamaged)
		}
		return append([]byte{}, r.Value...), true, nil
	}
	if t.line.foreign.Add(1) == 1 {
		t.line.log.Warn("skip records that rota did not write", "topic", r.Topic, "offset", r.Offset)
	}
	return nil, false, nil
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

package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
)

const (
	batchMost     = 512 // records of a batch
	batchHead     = 61  // bytes of a batch without records
	recordHead    = 40  // bytes of a record without its value, at most
	producersKept = 4   // by a topic
)

// producer numbers records, so that a broker stores each once, however often it is sent: Kafka's idempotent producer.
type producer struct {
	id    int64
	epoch int16
	next  int32
}

// newProducer asks a broker for one.
func (t *topic) newProducer(ctx context.Context, b *kgo.Broker) (*producer, error) {
	resp, err := requestAt[*kmsg.InitProducerIDResponse](ctx, b, kmsg.NewPtrInitProducerIDRequest())
	if err == nil {
		err = t.answered(resp.ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	return &producer{id: resp.ProducerID, epoch: resp.ProducerEpoch}, nil
}

// batch lays records out as Kafka keeps them: in one batch, of which it never keeps a part.
func (p *producer) batch(records [][]byte) []byte {
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: time.Now().UnixMilli(),
		ProducerID: p.id, ProducerEpoch: p.epoch, FirstSequence: p.next,
		NumRecords: int32(len(records)), LastOffsetDelta: int32(len(records) - 1), //nolint:gosec // few
	}
	b.MaxTimestamp = b.FirstTimestamp
	size := 0
	for _, data := range records {
		size += len(data) + recordHead
	}
	b.Records = make([]byte, 0, size)
	for i, data := range records {
		r := kmsg.Record{OffsetDelta: int32(i), Value: data} //nolint:gosec // few
		r.Headers = []kmsg.Header{{Key: mark, Value: sumOf(data)}}
		r.Length = int32(len(r.AppendTo(b.Records)) - len(b.Records) - 1) //nolint:gosec // small
		b.Records = r.AppendTo(b.Records)
	}
	const begin, sum, summed = 12, 17, 21                // what the length counts; where the checksum is; what it is of
	b.Length = int32(batchHead - begin + len(b.Records)) //nolint:gosec // small
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[sum:], checksum(out[summed:]))
	return out
}

// fitting is how many of some records a batch takes.
func fitting(records [][]byte) (n int) {
	for size := batchHead; n < min(len(records), batchMost); n++ {
		if size += len(records[n]) + recordHead; size > maxBatch {
			break
		}
	}
	return n
}

// write appends records as one batch, and returns the offset of the first. Where an answer was lost it sends the batch
// again.
func (t *topic) write(ctx context.Context, records [][]byte) (first int64, err error) {
	p, lost := (*producer)(nil), false
	select {
	case p = <-t.producers:
	default:
	}
	err = t.askLeader(ctx, t.line.client, func(b *kgo.Broker) (err error) {
		if p == nil || p.next > math.MaxInt32-batchMost {
			if p, err = t.newProducer(ctx, b); err != nil {
				return err
			}
		}
		first, err = t.send(ctx, b, p.batch(records))
		var forgotten bool
		if lost, forgotten = outcome(err, lost); forgotten {
			p = nil
			return errForgotten
		}
		return err
	})
	switch {
	case err != nil && lost:
		return 0, fmt.Errorf("%w: %w", store.ErrUnknown, hinted(err))
	case errors.Is(err, store.ErrTooLarge):
		return 0, err
	case err != nil:
		return 0, readError(ctx, err)
	}
	p.next += int32(len(records)) //nolint:gosec // few
	select {
	case t.producers <- p:
	default:
	}
	return first, nil
}

// send sends a batch to a broker, which answers when all replicas that are in sync have it.
func (t *topic) send(ctx context.Context, b *kgo.Broker, batch []byte) (first int64, err error) {
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = batch
	one := kmsg.NewProduceRequestTopic()
	one.Topic, one.TopicID, one.Partitions = t.name, t.id, []kmsg.ProduceRequestTopicPartition{part}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, int32(t.line.timeout.Milliseconds())
	req.Topics = []kmsg.ProduceRequestTopic{one}
	resp, err := requestAt[*kmsg.ProduceResponse](ctx, b, req)
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errors.New("the answer does not name the partition")
	}
	answer := resp.Topics[0].Partitions[0]
	return answer.BaseOffset, t.answered(answer.ErrorCode)
}

// answered gives the answer to a write its meaning. What may be sent again has no other one.
func (t *topic) answered(code int16) error {
	if err := kerr.ErrorForCode(code); err == nil || kerr.IsRetriable(err) {
		return err
	}
	return topicError(t.name, code)
}

var errForgotten = errors.New("the broker has forgotten the numbers of the producer")

// outcome says, after an answer to a batch, whether it may stand in the log, as it may have before; and whether the
// numbers of its producer are forgotten, so that another producer must send it.
func outcome(err error, before bool) (lost, forgotten bool) {
	code, _ := errors.AsType[*kerr.Error](err)
	switch {
	case err == nil:
		return before, false
	case code == nil:
		return true, false
	}
	switch code {
	case kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch:
		return before, !before
	case kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
		kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.TopicAuthorizationFailed,
		kerr.ClusterAuthorizationFailed, kerr.NotEnoughReplicas, kerr.MessageTooLarge, kerr.RecordListTooLarge,
		kerr.InvalidRecord, kerr.InvalidTimestamp:
		return before, false // it was refused
	}
	return true, false
}

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

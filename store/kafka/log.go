package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// topicLog is a log in a topic, with its snapshots in another one. A record's index is its offset and one, unless the log was seeded.
type topicLog struct {
	line      *line
	records   *topic
	snapshots *topic
	hints     *hints
	batch     batch
	weight    atomic.Int64 // bytes of a record, as those of the last answer were

	unseeded bool                  // nobody can seed it
	start    atomic.Pointer[start] // nil: not known yet

	mu   sync.Mutex
	head head
}

// mark is the header of our records. Its value is a checksum of the record's, so that what others write is not taken for ours.
const mark = "rota"

// overhead is what a batch with one record has beside the record's value.
const overhead = 1 << 10

// maxBatch is how many bytes the client sends to a topic at once: what Kafka takes unless a topic is told otherwise. One that takes less is refused.
const maxBatch = 1<<20 + 12

// MaxRecord is the maximum size of a record of the log; a document may have some 600 bytes less.
const MaxRecord = maxBatch - overhead

func sumOf(b []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// ours returns the data of a record that a log of ours wrote. Others are counted.
func (g *topicLog) ours(r *kgo.Record) ([]byte, bool) {
	for _, h := range r.Headers {
		if h.Key == mark && bytes.Equal(h.Value, sumOf(r.Value)) {
			if r.Value == nil {
				return []byte{}, true
			}
			return r.Value, true
		}
	}
	if seedOf(r) > 0 {
		return nil, false
	}
	if g.line.foreign.Add(1) == 1 {
		g.line.log.Warn("skip records that rota did not write", "topic", r.Topic, "offset", r.Offset)
	}
	return nil, false
}

// Append implements store.Log: the client numbers the record, so that it is stored once, and all in-sync replicas have it.
func (g *topicLog) Append(ctx context.Context, data []byte) (uint64, error) {
	index, err := g.append(ctx, data)
	if err != nil {
		return 0, fmt.Errorf("append: %w", err)
	}
	return index, nil
}

func (g *topicLog) append(ctx context.Context, data []byte) (uint64, error) {
	if err := g.line.enterChange(ctx); err != nil {
		return 0, err
	}
	before := g.known()
	if len(data) > MaxRecord {
		return 0, fmt.Errorf("%d bytes, at most %d: %w", len(data), MaxRecord, store.ErrTooLarge)
	}
	value := append(make([]byte, 0, len(data)), data...) // the client may send it after the caller has gone
	offset, err := g.batch.add(ctx, g.records, &kgo.Record{Value: value, Headers: []kgo.RecordHeader{{Key: mark, Value: sumOf(data)}}})
	if err != nil {
		return 0, err
	}
	if offset < before.end {
		return 0, fmt.Errorf("topic %s ended at offset %d, and the next record got %d: %w: %w", g.records.name, before.end, offset, store.ErrUnknown, ErrDamaged)
	}
	g.saw(head{end: offset + 1, index: offset + 1})
	s, err := g.started(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: it was appended, and where the log begins cannot be read: %w", store.ErrUnknown, err)
	}
	return uint64(offset) + 1 + orPlain(s).Shift, nil
}

// produce sends records in order. It does not wait for an answer when ctx ends.
func (t *topic) produce(ctx context.Context, records ...*kgo.Record) error {
	done := make(chan error, len(records))
	for _, r := range records {
		r.Topic = t.name
		t.line.client.TryProduce(ctx, r, func(_ *kgo.Record, err error) { done <- err })
	}
	late := time.NewTimer(t.line.timeout)
	defer late.Stop()
	for range records {
		select {
		case err := <-done:
			if err != nil {
				return t.refused(ctx, err)
			}
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
		case <-t.line.life.Done():
			return fmt.Errorf("%w: %w", store.ErrUnknown, store.ErrClosed)
		case <-late.C:
			return fmt.Errorf("%w: %w", store.ErrUnknown, errTimeout)
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

// Trim implements store.Log.
func (g *topicLog) Trim(ctx context.Context, index uint64) (err error) {
	defer driver.Wrap(&err, "trim log to %d", index)
	if err := g.line.enterChange(ctx); err != nil {
		return err
	}
	ctx, cancel := g.line.bounded(ctx)
	defer cancel()
	s, err := g.newestSnapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return readError(ctx, err)
	}
	if index = min(index, s.index); index <= s.start.Shift {
		return nil
	}
	return g.records.drop(ctx, int64(index-s.start.Shift))
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

package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
)

// pageBytes is how many bytes a page has; the last record may exceed it.
const pageBytes = 8 << 20

// Read implements driver.Journal. Foreign records are skipped.
func (j *journal) Read(ctx context.Context, after uint64,
	n int) (records []store.Record, first, end uint64, err error) {
	ctx, leave, err := j.records.line.call(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	defer leave()
	base, ok, err := j.began(ctx)
	if err == nil && ok {
		records, first, end, err = j.read(ctx, base, after, n)
	}
	if err != nil {
		return nil, 0, 0, j.gone(ctx, readError(ctx, err))
	}
	return records, first, end, nil
}

// read reads a log that begins behind an index.
func (j *journal) read(ctx context.Context, base, after uint64,
	n int) (all []store.Record, first, newest uint64, err error) {
	known := j.known() // before the question: what is appended meanwhile may be newer than the answer
	end, err := j.records.end(ctx, latest)
	if err != nil {
		return nil, 0, 0, err
	}
	if end < known.end {
		j.records.leader.Store(noLeader)
		return nil, 0, 0, fmt.Errorf("%w: topic %s ends at offset %d, and went to %d: its leader lags, or records were lost",
			store.ErrUnavailable, j.records.name, end, known.end)
	}
	from := int64(min(after-base, math.MaxInt64)) //nolint:gosec // it fits
	if after < base {
		err = errAway
	} else if from < end && n > 0 {
		all, end, err = j.collect(ctx, from, end, n)
	}
	var oldest, last int64
	if errors.Is(err, errAway) {
		if oldest, err = j.records.end(ctx, earliest); err == nil && after >= base && from >= oldest {
			j.records.leader.Store(noLeader)
			err = fmt.Errorf("%w: topic %s: its leader does not have offset %d yet", store.ErrUnavailable,
				j.records.name, from)
		}
		all, first = nil, base+uint64(oldest)+1 //nolint:gosec // not negative
	}
	if err == nil {
		last, err = j.newestBelow(ctx, end)
	}
	for i := range all {
		all[i].Index += base
	}
	return all, first, base + uint64(last), err //nolint:gosec // not negative
}

// collect reads records from an offset up to an end, which it raises if it reads further; and notes the head where it
// has come to it. Each index is an offset and one.
func (j *journal) collect(ctx context.Context, from, end int64, n int) (all []store.Record, _ int64, err error) {
	at, bytes := from, 0
	for at < end && len(all) < n && bytes < pageBytes {
		f, err := j.records.fetch(ctx, j.records.line.client, at, room(n-len(all)), 0)
		if err != nil {
			return nil, end, err
		}
		for _, r := range f.records {
			if len(all) == n {
				return all, max(end, at), nil
			}
			at = r.Offset + 1
			data, ok, err := j.records.ours(r)
			if err != nil {
				return nil, end, err
			}
			if ok {
				all = append(all, store.Record{Index: uint64(at), Data: data}) //nolint:gosec // not negative
				bytes += len(data)
			}
		}
		if f.next <= at && len(f.records) == 0 { // a new leader does not yet know what all replicas have
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				return nil, end, err
			}
		}
		at = max(at, f.next)
	}
	if at >= end {
		end = at
		if len(all) > 0 {
			j.saw(head{at, int64(all[len(all)-1].Index)}) //nolint:gosec // an offset
		} else if known := j.known(); known.end >= from {
			j.saw(head{at, known.newest})
		}
	}
	return all, end, nil
}

// room is how many bytes to ask for, for some records: of most it is enough, and of larger ones some come.
func room(records int) int32 {
	return int32(min(leastBytes+min(records, fetchBytes)<<10, fetchBytes)) //nolint:gosec // small
}

// newestBelow is the newest record of ours below the end of the partition: its offset and one. Mostly the handle knows
// it, or it is the last record.
func (j *journal) newestBelow(ctx context.Context, end int64) (int64, error) {
	if newest, ok := j.known().below(end); ok {
		return newest, nil
	}
	first, err := j.records.end(ctx, earliest)
	if err != nil {
		return 0, err
	}
	for back := int64(1); ; back *= 8 {
		from := max(end-back, first)
		newest, err := j.newest(ctx, from, end)
		switch {
		case errors.Is(err, errAway): // trimmed meanwhile
			return j.newestBelow(ctx, end)
		case err != nil:
			return 0, err
		case newest > 0 || from == first:
			newest = max(newest, first) // where all is trimmed, the log ends there
			j.saw(head{end, newest})
			return newest, nil
		}
	}
}

// newest looks for the last record of ours in a range; 0: there is none.
func (j *journal) newest(ctx context.Context, from, end int64) (newest int64, err error) {
	for at := from; at < end; {
		f, err := j.records.fetch(ctx, j.records.line.client, at, fetchBytes, 0)
		if err != nil {
			return 0, err
		}
		for _, r := range f.records {
			_, ok, err := j.records.ours(r)
			if err != nil {
				return 0, err
			}
			if ok && r.Offset < end {
				newest = r.Offset + 1
			}
		}
		if f.next <= at {
			return newest, fmt.Errorf("%w: the leader answered with nothing at offset %d", errMoved, at)
		}
		at = f.next
	}
	return newest, nil
}

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
